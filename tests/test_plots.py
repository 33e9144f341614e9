import io
from dataclasses import replace

import pytest
from PIL import Image

from jigsolve import Generation, InputError, cost_plot
from jigsolve.plots import REFINEMENT_COLOUR


def history(*costs, mean=2.0, refined=0):
    """Generations of these costs, the last `refined` of them parts of the refinement."""
    made = []
    for number, cost in enumerate(costs):
        stage, shares = ("evolve", (0.5, 0.3, 0.2)) if number < len(costs) - refined else ("refine", (0.0, 0.0, 0.0))
        made.append(Generation(number, stage, cost, mean * cost, *shares, float(number), 0))
    return made


@pytest.mark.parametrize(
    ("suffix", "start"), [(".png", b"\x89PNG\r\n"), (".PNG", b"\x89PNG\r\n"), (".svg", b"<?xml"), (".pdf", b"%PDF-")]
)
def test_every_format_is_what_it_says(suffix, start):
    assert cost_plot(history(9.0, 5.0, 4.0), suffix).startswith(start)


def test_a_png_can_be_looked_at():
    image = Image.open(io.BytesIO(cost_plot(history(9.0, 5.0, 4.0))))
    image.load()
    assert image.size == (960, 720)


def test_the_chart_names_what_it_shows():
    text = cost_plot(history(9.0, 5.0, 4.0), ".svg").decode()
    for label in ("cost (sum of dissimilarities)", "placements (%)", "best buddy", "mean of the population", "greedy"):
        assert f"<!-- {label} -->" in text


def test_the_refinement_is_shaded_and_named():
    evolved = cost_plot(history(9.0, 5.0, 4.0, 3.0), ".svg").decode()
    refined = cost_plot(history(9.0, 5.0, 4.0, 3.0, refined=2), ".svg").decode()
    for words in ("<!-- refinement -->", "<!-- generation, then part of the refinement -->"):
        assert words in refined
        assert words not in evolved
    # In both panels, and once in the legend.
    assert refined.count(f"fill: {REFINEMENT_COLOUR}") == 3


def test_phases_are_of_evolution_only():
    # Whatever the refinement says of phases, it has none.
    one, other = history(9.0, 5.0, 4.0, 3.0, refined=1), history(9.0, 5.0, 4.0, 3.0, refined=1)
    other[-1] = replace(other[-1], agreed_share=0.9, greedy_share=0.1)
    assert cost_plot(one) == cost_plot(other)


def test_the_chart_shows_the_history():
    charts = {
        cost_plot(each) for each in (history(9.0, 5.0, 4.0), history(9.0, 6.0, 4.0), history(9.0, 5.0, 4.0, mean=3))
    }
    assert len(charts) == 3


@pytest.mark.parametrize("costs", [(9.0,), (0.0,), (0.0, 0.0), (9.0, 0.0), (1e-9, 1e-9), (1e12, 5.0)], ids=str)
@pytest.mark.parametrize("refined", [0, 1])
def test_odd_histories_are_plotted_without_a_warning(costs, refined):
    assert cost_plot(history(*costs, refined=refined))


@pytest.mark.parametrize("suffix", [".jpg", "", "png", ".gif"])
def test_other_formats_are_refused(suffix):
    with pytest.raises(InputError, match=rf"cannot be written as '{suffix}'; use one of \.png, \.svg, \.pdf"):
        cost_plot(history(1.0), suffix)


def test_an_empty_history_is_refused():
    with pytest.raises(InputError, match="nothing to plot"):
        cost_plot([])
