"""Parameters of a solve, checked once, and the presets that name sets of them."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from .checks import one_of, whole_number
from .errors import InputError

Selection = Literal["inverse", "window", "exponential"]
Measure = Literal["lab", "lab-raw", "mgc", "midline"]
MutationUnit = Literal["child", "placement"]

# More than any memory holds or anybody waits for.
MOST = 2**31


@dataclass(frozen=True)
class Parameters:
    """Everything that decides a result besides the puzzle and the seed; the defaults are the paper's (section 4).

    Parameters
    ----------
    population
        Arrangements in every generation.
    generations
        Generations after the random one. Stopping rules can end the run earlier.
    elites
        How many of the best are copied into the next generation.
    mutation_rate
        Chance of a mutation, from 0 to 1.
    mutation_unit
        What that chance is of: of a "child" to get one piece placed at random, or of every "placement".
    selection
        How a cost becomes a chance to be a parent: "inverse", "window" or "exponential" (see `genetic.selection`).
    measure
        How the cost of a pair is measured: "lab", the paper's dissimilarity in normalized L*a*b*, or "lab-raw", the
        same without normalizing.
    candidates
        How many candidates of every side are kept in lists. The result is the same for any number; the time is not.
    """

    population: int = 1000
    generations: int = 100
    elites: int = 4
    mutation_rate: float = 0.05
    mutation_unit: MutationUnit = "child"
    selection: Selection = "inverse"
    measure: Measure = "lab"
    candidates: int = 64

    def __post_init__(self) -> None:
        for name, least in {"population": 2, "generations": 0, "elites": 0, "candidates": 1}.items():
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least, MOST))
        one_of("mutation_unit", self.mutation_unit, get_args(MutationUnit))
        one_of("selection", self.selection, get_args(Selection))
        one_of("measure", self.measure, get_args(Measure))
        if self.elites >= self.population:
            raise InputError(
                f"a population of {self.population} must be larger than its {self.elites} elites; "
                "raise the one or lower the other"
            )
        if not 0 <= self.mutation_rate <= 1:
            raise InputError(f"mutation_rate is a chance from 0 to 1, not {self.mutation_rate}")
        object.__setattr__(self, "mutation_rate", float(self.mutation_rate))

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters by name, ready for JSON."""
        return asdict(self)


PRESETS: dict[str, Parameters] = {"paper": Parameters()}


def parameters_of(preset: str, **changes: Any) -> Parameters:
    """Return a preset's parameters with some changed; None leaves the preset's value."""
    if preset not in PRESETS:
        raise InputError(f"there is no preset {preset!r}; there are {', '.join(PRESETS)}")
    unknown = changes.keys() - {field.name for field in fields(Parameters)}
    if unknown:
        raise InputError(f"there is no parameter {sorted(unknown)[0]!r}")
    return replace(PRESETS[preset], **{name: value for name, value in changes.items() if value is not None})
