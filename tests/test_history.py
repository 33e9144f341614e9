import pytest
from hypothesis import given
from hypothesis import strategies as st

from jigsolve import Generation, InputError
from jigsolve.history import from_csv, to_csv

FINITE = st.floats(allow_nan=False)
GENERATIONS = st.builds(
    Generation, st.integers(0), FINITE, FINITE, FINITE, FINITE, FINITE, FINITE, stale=st.integers(0)
)
HEADER = "number,best_cost,mean_cost,agreed_share,buddy_share,greedy_share,seconds,stale\n"


@given(st.lists(GENERATIONS, max_size=5))
def test_csv_gives_every_digit_back(history):
    assert from_csv(to_csv(history)) == tuple(history)


def test_csv_has_one_line_a_generation():
    text = to_csv([Generation(0, 2.5, 3.0, 0.0, 0.0, 0.0, 0.125, 0), Generation(1, 2.0, 2.5, 0.5, 0.25, 0.25, 0.25, 0)])
    assert text == HEADER + "0,2.5,3.0,0.0,0.0,0.0,0.125,0\n1,2.0,2.5,0.5,0.25,0.25,0.25,0\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "number,best_cost\n1,2\n",
        HEADER + "0,1,1,0,0,0,0\n",
        HEADER + "zero,1,1,0,0,0,0,0\n",
        HEADER + "0.5,1,1,0,0,0,0,0\n",
        HEADER + "0,much,1,0,0,0,0,0\n",
        HEADER + '0,"1,1,0,0,0,0,0\n',
    ],
    ids=range(8),
)
def test_other_text_is_refused(text):
    with pytest.raises(InputError, match="not a history"):
        from_csv(text)
