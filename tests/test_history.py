import pytest
from hypothesis import given
from hypothesis import strategies as st

from jigsolve import Generation, InputError
from jigsolve.history import from_csv, to_csv

FINITE = st.floats(allow_nan=False)
STAGES = st.sampled_from(["evolve", "refine"])
GENERATIONS = st.builds(
    Generation, st.integers(0), STAGES, FINITE, FINITE, FINITE, FINITE, FINITE, FINITE, stale=st.integers(0)
)
HEADER = "number,stage,best_cost,mean_cost,agreed_share,buddy_share,greedy_share,seconds,stale\n"


@given(st.lists(GENERATIONS, max_size=5))
def test_csv_gives_every_digit_back(history):
    assert from_csv(to_csv(history)) == tuple(history)


def test_csv_has_one_line_a_generation():
    generations = [
        Generation(0, "evolve", 2.5, 3.0, 0.5, 0.25, 0.25, 0.125, 0),
        Generation(1, "refine", 2.0, 2.5, 0.0, 0.0, 0.0, 0.25, 0),
    ]
    lines = "0,evolve,2.5,3.0,0.5,0.25,0.25,0.125,0\n1,refine,2.0,2.5,0.0,0.0,0.0,0.25,0\n"
    assert to_csv(generations) == HEADER + lines


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "number,best_cost\n1,2\n",
        HEADER + "0,evolve,1,1,0,0,0,0\n",
        HEADER + "zero,evolve,1,1,0,0,0,0,0\n",
        HEADER + "0.5,evolve,1,1,0,0,0,0,0\n",
        HEADER + "0,evolve,much,1,0,0,0,0,0\n",
        HEADER + '0,evolve,"1,1,0,0,0,0,0\n',
    ],
    ids=range(8),
)
def test_other_text_is_refused(text):
    with pytest.raises(InputError, match="not a history"):
        from_csv(text)
