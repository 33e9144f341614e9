import json
from dataclasses import replace

import pytest

from jigsolve import PRESETS, InputError, Parameters
from jigsolve.parameters import DEFAULT_PRESET, parameters_of


def test_the_preset_paper_is_the_papers():
    paper = PRESETS["paper"]
    assert (paper.population, paper.generations, paper.elites, paper.mutation_rate) == (1000, 100, 4, 0.05)
    assert (paper.selection, paper.greedy, paper.measure) == ("inverse", "side", "lab")
    assert (paper.patience, paper.effort) == (0, 0)


def test_the_default_preset_refines():
    best = PRESETS[DEFAULT_PRESET]
    assert DEFAULT_PRESET == "best"
    assert (best.greedy, best.measure) == ("cell", "traces")
    assert best.patience > 0
    assert best.effort > 0


def test_the_defaults_of_single_parameters_are_the_papers():
    assert Parameters() == PRESETS["paper"]


def test_what_is_given_replaces_and_none_leaves():
    parameters = parameters_of("paper", population=50, elites=None, selection="window")
    assert parameters == Parameters(population=50, selection="window")


def test_zero_is_a_value_and_not_left_out():
    parameters = parameters_of("paper", elites=0, generations=0, mutation_rate=0.0)
    assert (parameters.elites, parameters.generations, parameters.mutation_rate) == (0, 0, 0.0)
    unrefined = parameters_of("best", patience=0, effort=0)
    assert (unrefined.patience, unrefined.effort) == (0, 0)


@pytest.mark.parametrize("effort", [0, 1, 10])
def test_efforts_from_none_to_most_are_taken(effort):
    assert Parameters(effort=effort).effort == effort


def test_an_unknown_preset_is_refused_with_those_there_are():
    with pytest.raises(InputError, match="there is no preset 'fast'; there are best, paper"):
        parameters_of("fast")


def test_an_unknown_parameter_is_refused():
    with pytest.raises(InputError, match="there is no parameter 'popluation'"):
        parameters_of("paper", popluation=10)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("population", 1),
        ("population", 10.0),
        ("population", True),
        ("population", "10"),
        ("population", 10**18),
        ("generations", -1),
        ("elites", -1),
        ("candidates", 0),
        ("patience", -1),
        ("effort", -1),
        ("effort", 11),
        ("effort", 2.5),
        ("greedy", "edge"),
        ("mutation_rate", -0.1),
        ("mutation_rate", 1.1),
        ("mutation_rate", float("nan")),
        ("mutation_unit", "gene"),
        ("selection", "roulette"),
        ("measure", "rgb"),
    ],
)
def test_values_that_make_no_sense_are_refused(name, value):
    with pytest.raises(InputError, match=rf"{name} .*not {value!r}"):
        Parameters(**{name: value})


@pytest.mark.parametrize(("population", "elites"), [(4, 4), (3, 4), (2, 2)])
def test_a_population_of_elites_only_is_refused(population, elites):
    with pytest.raises(InputError, match=f"a population of {population} must be larger than its {elites} elites"):
        Parameters(population=population, elites=elites)


def test_the_smallest_population_has_one_child():
    assert Parameters(population=2, elites=1).population == 2


def test_parameters_can_be_written_as_json():
    parameters = Parameters(population=10, mutation_unit="placement")
    assert Parameters(**json.loads(json.dumps(parameters.to_dict()))) == parameters


def test_preset_best_has_twice_the_population_for_small_puzzles():
    best, paper = parameters_of("best"), parameters_of("paper")
    assert best.for_pieces(5000) == replace(best, population=2 * best.population)
    assert best.for_pieces(5001) == best
    assert paper.for_pieces(10) == paper
