import inspect

import pytest

import jigsolve

EXPORTED = [
    "PRESETS",
    "AllOf",
    "AnyOf",
    "Arrangement",
    "Callback",
    "Checkpoint",
    "Checkpoints",
    "Film",
    "Generation",
    "ImageError",
    "InputError",
    "JigsolveError",
    "MaxGenerations",
    "MaxSeconds",
    "NoImprovement",
    "OutputError",
    "Parameters",
    "Picture",
    "Preparing",
    "Progress",
    "Puzzle",
    "Result",
    "Score",
    "StoppingRule",
    "__version__",
    "arrangement_cost",
    "cost_plot",
    "detect_piece_size",
    "direct_accuracy",
    "largest_component",
    "neighbour_accuracy",
    "read_checkpoint",
    "read_picture",
    "read_record",
    "resume",
    "sample_picture",
    "score",
    "score_identical",
    "solve",
    "truth_to_json",
    "warm_up",
    "write_picture",
]
# Values: a docstring would be that of their type.
VALUES = {"PRESETS", "Callback", "Preparing", "__version__"}
DOCUMENTED = [name for name in EXPORTED if name not in VALUES]


def test_exactly_these_names_are_public():
    assert sorted(jigsolve.__all__) == sorted(EXPORTED)


def test_every_public_name_is_there():
    assert [name for name in EXPORTED if not hasattr(jigsolve, name)] == []


def own_docstring(thing):
    """The docstring as written: dataclasses without one are given their signature."""
    text = inspect.cleandoc(vars(thing).get("__doc__") or "") if inspect.isclass(thing) else inspect.getdoc(thing) or ""
    return "" if text.startswith(f"{thing.__name__}(") else text


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_public_name_has_a_docstring(name):
    assert own_docstring(getattr(jigsolve, name))


def public_members(thing):
    return [
        (name, member)
        for name, member in vars(thing).items()
        if not name.startswith("_") and (callable(member) or isinstance(member, property | classmethod))
    ]


@pytest.mark.parametrize("name", [name for name in DOCUMENTED if inspect.isclass(getattr(jigsolve, name))])
def test_every_public_method_has_a_docstring(name):
    assert [member for member, value in public_members(getattr(jigsolve, name)) if not inspect.getdoc(value)] == []


def test_the_package_says_what_it_does():
    assert "back together" in jigsolve.__doc__


def test_the_errors_are_one_tree():
    assert issubclass(jigsolve.ImageError, jigsolve.InputError)
    assert issubclass(jigsolve.InputError, jigsolve.JigsolveError)
    assert issubclass(jigsolve.InputError, ValueError)
    assert issubclass(jigsolve.OutputError, jigsolve.JigsolveError)
    assert issubclass(jigsolve.OutputError, OSError)
