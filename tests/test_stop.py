import pytest

from jigsolve import AllOf, AnyOf, Generation, InputError, MaxGenerations, MaxSeconds, NoImprovement, StoppingRule


def generation(number=0, seconds=0.0, stale=0, stage="evolve"):
    return Generation(number, stage, 1.0, 1.0, 0.0, 0.0, 0.0, seconds, stale)


def test_max_generations_stops_at_its_number():
    rule = MaxGenerations(3)
    assert [rule(generation(number)) for number in range(5)] == [None] * 3 + ["reached 3 generations"] * 2


def test_no_generations_stop_at_once():
    assert MaxGenerations(0)(generation(0)) == "reached 0 generations"


def test_parts_of_the_refinement_are_no_generations():
    assert MaxGenerations(3)(generation(5, stage="refine")) is None


def test_time_and_improvement_count_in_the_refinement_too():
    assert MaxSeconds(1.5)(generation(5, seconds=2.0, stage="refine")) == "reached 1.5 seconds"
    assert NoImprovement(2)(generation(5, stale=2, stage="refine")) == "no improvement for 2 generations"


def test_max_seconds_stops_when_the_time_is_up():
    rule = MaxSeconds(1.5)
    assert rule(generation(seconds=1.499)) is None
    assert rule(generation(seconds=1.5)) == "reached 1.5 seconds"
    assert rule(generation(seconds=9)) == "reached 1.5 seconds"


def test_no_improvement_counts_generations_without_one():
    rule = NoImprovement(2)
    assert [rule(generation(9, stale=stale)) for stale in range(4)] == [None] * 2 + [
        "no improvement for 2 generations"
    ] * 2


def test_either_rule_is_enough_for_or():
    rule = MaxGenerations(5) | MaxSeconds(2)
    assert rule(generation(4, seconds=1)) is None
    assert rule(generation(5, seconds=1)) == "reached 5 generations"
    assert rule(generation(4, seconds=2)) == "reached 2 seconds"
    assert rule(generation(5, seconds=2)) == "reached 5 generations"


def test_both_rules_are_needed_for_and():
    rule = MaxGenerations(5) & NoImprovement(2)
    assert rule(generation(5, stale=1)) is None
    assert rule(generation(4, stale=2)) is None
    assert rule(generation(5, stale=2)) == "reached 5 generations and no improvement for 2 generations"


def test_combinations_combine():
    rule = (MaxGenerations(5) & NoImprovement(2)) | MaxSeconds(9)
    assert isinstance(rule, AnyOf)
    assert isinstance(rule & MaxSeconds(1), AllOf)
    assert rule(generation(1, seconds=10)) == "reached 9 seconds"
    assert rule(generation(9, stale=2)) == "reached 5 generations and no improvement for 2 generations"
    assert rule(generation(9, stale=1)) is None


def test_any_function_can_be_a_rule():
    def odd(latest):
        return "it is odd" if latest.number % 2 else None

    assert isinstance(odd, StoppingRule)
    rule = MaxGenerations(6) | odd
    assert [rule(generation(number)) for number in (4, 5, 6)] == [None, "it is odd", "reached 6 generations"]


def test_a_rule_holds_no_state():
    rule = NoImprovement(1)
    assert rule(generation(stale=1)) is not None
    assert rule(generation(stale=0)) is None


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (MaxGenerations, -1),
        (MaxSeconds, 0),
        (MaxSeconds, -1.0),
        (MaxSeconds, float("nan")),
        (NoImprovement, 0),
        (NoImprovement, -5),
    ],
)
def test_limits_that_make_no_sense_are_refused(kind, value):
    with pytest.raises(InputError, match=f"not {value}"):
        kind(value)
