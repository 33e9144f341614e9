"""Parameters of a solve, checked once, and the presets that name sets of them."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from .checks import one_of, whole_number
from .errors import InputError

Selection = Literal["inverse", "window", "exponential"]
Measure = Literal["lab", "lab-raw", "mgc", "midline", "traces"]
MutationUnit = Literal["child", "placement"]
Greedy = Literal["side", "cell"]

# More than any memory holds or anybody waits for.
MOST = 2**31
MOST_EFFORT = 10
# Up to so many pieces a puzzle is small.
SMALL_PUZZLE = 5000


@dataclass(frozen=True)
class Parameters:
    """Everything that decides a result besides the puzzle and the seed; the defaults are the paper's (section 4).

    Parameters
    ----------
    population
        Arrangements in every generation. That of preset "best" is doubled for puzzles of up to 5,000 pieces.
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
    greedy
        What a piece must fit where neither parent gives advice: one "side" that is drawn, the best of all free pieces,
        as in the paper; or all neighbours of a "cell", the best of their candidates, after the pieces that are sure by
        themselves or in context (see `compatibility.context`).
    measure
        How the cost of a pair is measured: "lab", the paper's dissimilarity in normalized L*a*b*; "lab-raw", the same
        without normalizing; "mgc", Gallagher's (2012), by the covariance of gradients; "midline", by where the
        gradients of both pieces lead (see `compatibility.seams`); or "traces", that and the blocks of JPEG that seams
        cut, where pieces come from such a picture (see `compatibility.traces`), and what flat pieces are without
        details (see `compatibility.ramps`, and of large puzzles `compatibility.likeness`).
    candidates
        How many candidates of every side are kept in lists. With `greedy` "side" and no effort the result is the same
        for any number; the time is not.
    patience
        Generations without improvement after which evolution ends; 0 for never.
    effort
        How long the result of evolution is annealed, from 1 to 10; each step doubles the time. 0 for not at all.
    """

    population: int = 1000
    generations: int = 100
    elites: int = 4
    mutation_rate: float = 0.05
    mutation_unit: MutationUnit = "child"
    selection: Selection = "inverse"
    greedy: Greedy = "side"
    measure: Measure = "lab"
    candidates: int = 64
    patience: int = 0
    effort: int = 0

    def __post_init__(self) -> None:
        least_values = {"population": 2, "generations": 0, "elites": 0, "candidates": 1, "patience": 0}
        for name, least in least_values.items():
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least, MOST))
        object.__setattr__(self, "effort", whole_number("effort", self.effort, 0, MOST_EFFORT))
        one_of("mutation_unit", self.mutation_unit, get_args(MutationUnit))
        one_of("selection", self.selection, get_args(Selection))
        one_of("greedy", self.greedy, get_args(Greedy))
        one_of("measure", self.measure, get_args(Measure))
        if self.elites >= self.population:
            raise InputError(
                f"a population of {self.population} must be larger than its {self.elites} elites; "
                "raise the one or lower the other"
            )
        if not 0 <= self.mutation_rate <= 1:
            raise InputError(f"mutation_rate is a chance from 0 to 1, not {self.mutation_rate}")
        object.__setattr__(self, "mutation_rate", float(self.mutation_rate))

    def for_pieces(self, pieces: int) -> "Parameters":
        """Return the parameters of a preset for a puzzle of so many pieces.

        Where children grow over sure partners, few arrangements do; a small puzzle, which takes no time, has twice as
        many.
        """
        small = self.greedy == "cell" and pieces <= SMALL_PUZZLE
        return replace(self, population=2 * self.population) if small else self

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters by name, ready for JSON."""
        return asdict(self)


DEFAULT_PRESET = "best"
PRESETS: dict[str, Parameters] = {
    "best": Parameters(
        population=100,
        mutation_rate=0.0,
        selection="exponential",
        greedy="cell",
        measure="traces",
        candidates=32,
        patience=4,
        effort=5,
    ),
    "paper": Parameters(),
}


def parameters_of(preset: str, **changes: Any) -> Parameters:
    """Return a preset's parameters with some changed; None leaves the preset's value."""
    if preset not in PRESETS:
        raise InputError(f"there is no preset {preset!r}; there are {', '.join(PRESETS)}")
    unknown = changes.keys() - {field.name for field in fields(Parameters)}
    if unknown:
        raise InputError(f"there is no parameter {sorted(unknown)[0]!r}")
    return replace(PRESETS[preset], **{name: value for name, value in changes.items() if value is not None})
