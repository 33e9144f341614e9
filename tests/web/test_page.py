"""The page in a real browser: Chromium from the system's packages, driven by Playwright."""

import io
import json
import time

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import expect, sync_playwright

from jigsolve import Puzzle, read_picture
from jigsolve.web.limits import Limits
from tests.web.conftest import BROWSER, NO_BROWSER, PATIENCE, encoded

if BROWSER is None:
    pytest.skip(NO_BROWSER, allow_module_level=True)

# Software drawing, so that every machine sees the same.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
MS = 1000 * PATIENCE


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        yield made
        made.close()


@pytest.fixture
def open_page(browser):
    """Opens pages, and fails when one of them reports an error, or asks anybody but our server for anything."""
    problems, contexts = [], []

    def new(url, **options):
        context = browser.new_context(viewport={"width": 1280, "height": 860}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(MS)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: problems.append(said.text) if "Content Security" in said.text else None)
        page.on("request", lambda asked: problems.append(asked.url) if not asked.url.startswith(url[:20]) else None)
        page.goto(url)
        return page

    yield new
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def page(open_page, site):
    return ready(open_page(site.url))


def ready(page):
    page.wait_for_function("() => window.jigsolve && jigsolve.setup.image !== null")
    return page


def drop(page, *files):
    """Drop files, as (name, bytes), on the page as a file manager would."""
    page.evaluate(
        """async (files) => {
          const transfer = new DataTransfer();
          for (const [name, bytes] of files) transfer.items.add(new File([new Uint8Array(bytes)], name));
          for (const kind of ["dragenter", "dragover", "drop"])
            document.body.dispatchEvent(
              new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }),
            );
        }""",
        [[name, list(data)] for name, data in files],
    )


def solve(page):
    expect(page.locator("#solve")).to_be_enabled()
    page.click("#solve")
    page.wait_for_url("**/jobs/*")
    page.wait_for_function("() => jigsolve.job.player.frames.length > 1")
    return page


def settled(page):
    """Waits until everything has been shown."""
    page.wait_for_function(
        "() => { const { player, stage, status } = jigsolve.job;"
        " return status?.finished && player.atEnd && !stage.gliding && stage.gap === stage.gapTarget; }"
    )
    return page


def shown_grid(page):
    return page.evaluate("() => [...jigsolve.job.player.shown.grid]")


def stage_pixels(page):
    return page.locator("#stage").screenshot()


# Drop, watch, scrub, download, reload


def test_a_dropped_picture_is_cut_watched_and_downloaded(page, photo_bytes, tmp_path):
    drop(page, ("holiday.png", photo_bytes))
    expect(page.locator("#chosen")).to_have_text("holiday.png")
    page.fill("#size-number", "40")
    expect(page.locator("#count")).to_have_text("20 pieces · 5 \u00d7 4")
    page.fill("#size-number", "20")
    expect(page.locator("#count")).to_have_text("80 pieces · 10 \u00d7 8")
    settled(solve(page))
    expect(page.locator("#job-title")).to_contain_text("Solved in")
    expect(page.locator("#job-meta")).to_have_text("holiday.png · 80 pieces · 10 \u00d7 8 · preset paper · seed 1")
    expect(page.locator("#neighbour")).to_have_text("100 %")
    expect(page.locator("#direct")).to_have_text("100 %")
    assert page.locator("#chart path.best").get_attribute("d").count("L") == 100
    for link, file in (("#get-picture", "solved.png"), ("#get-json", "result.json"), ("#get-gif", "evolution.gif")):
        with page.expect_download() as download:
            page.click(link)
        assert download.value.suggested_filename == f"jigsolve-{file}"
        download.value.save_as(tmp_path / file)
    (tmp_path / "photo.png").write_bytes(photo_bytes)
    assert (read_picture(tmp_path / "solved.png").pixels == read_picture(tmp_path / "photo.png").pixels).all()
    assert json.loads((tmp_path / "result.json").read_text())["format"] == "jigsolve-result"
    with Image.open(tmp_path / "evolution.gif") as animation:
        assert animation.n_frames > 2


def test_the_state_survives_a_reload(page):
    settled(solve(page))
    final = shown_grid(page)
    address, title = page.url, page.locator("#job-title").inner_text()
    page.reload()
    page.wait_for_function("() => window.jigsolve?.job?.status?.finished && jigsolve.job.player.index > 0")
    settled(page)
    assert page.url == address
    assert shown_grid(page) == final
    expect(page.locator("#job-title")).to_have_text(title)
    expect(page.locator("#get-gif")).to_be_visible()


def test_scrubbing_goes_back_and_playing_goes_on(page):
    settled(solve(page))
    last = page.evaluate("() => jigsolve.job.player.index")
    assert last >= 3
    after = stage_pixels(page)
    page.locator("#scrub").fill("0")
    expect(page.locator("#scrub-label")).to_have_text("shuffled")
    page.wait_for_function(
        "() => !jigsolve.job.stage.gliding && jigsolve.job.stage.gap === jigsolve.job.stage.gapTarget"
    )
    assert shown_grid(page) == list(range(340))
    assert stage_pixels(page) != after
    page.locator("#scrub").fill("1")
    expect(page.locator("#scrub-label")).to_have_text("generation 0 of 100")
    expect(page.locator("#play")).to_have_accessible_name("Play")
    page.click("#play")
    settled(page)
    assert page.evaluate("() => jigsolve.job.player.index") == last
    expect(page.locator("#play")).to_have_accessible_name("Play it again")
    page.click("#play")
    page.wait_for_function("() => jigsolve.job.player.index === 0")
    page.click("#play")
    expect(page.locator("#play")).to_have_accessible_name("Play")


def test_the_original_is_compared_and_the_view_zooms(page):
    settled(solve(page))
    page.wait_for_timeout(100)
    before = stage_pixels(page)
    page.locator("#scrub").fill("1")
    page.wait_for_function(
        "() => !jigsolve.job.stage.gliding && jigsolve.job.stage.gap === jigsolve.job.stage.gapTarget"
    )
    mixed = stage_pixels(page)
    page.locator("#compare").fill("100")
    page.wait_for_function("() => jigsolve.job.stage.compare === 1")
    wait_for_change(page, mixed)
    page.locator("#compare").fill("0")
    wait_for(page, mixed)
    page.click("#zoom-in")
    wait_for_change(page, mixed)
    page.click("#zoom-fit")
    wait_for(page, mixed)
    assert before != mixed


def wait_for_change(page, pixels):
    end = time.monotonic() + PATIENCE
    while stage_pixels(page) == pixels:
        assert time.monotonic() < end
        page.wait_for_timeout(50)


def wait_for(page, pixels):
    end = time.monotonic() + PATIENCE
    while stage_pixels(page) != pixels:
        assert time.monotonic() < end
        page.wait_for_timeout(50)


def test_a_long_job_is_followed_paused_and_stopped(open_page, stage):
    site = stage(rows=10, columns=10, frames=10_000, seconds=0.1)
    page = solve(ready(open_page(site.url)))
    expect(page.locator("#job-title")).to_have_text("Solving")
    page.wait_for_function("() => jigsolve.job.player.index >= 2")
    page.click("#play")
    stays = page.evaluate("() => jigsolve.job.player.index")
    known = page.evaluate("() => jigsolve.job.player.frames.length")
    page.wait_for_function(f"() => jigsolve.job.player.frames.length > {known + 5}")
    assert page.evaluate("() => jigsolve.job.player.index") == stays
    page.reload()  # In the middle: it goes on from the newest.
    page.wait_for_function(f"() => window.jigsolve?.job?.player.index > {known}")
    page.click("#stop")
    expect(page.locator("#job-title")).to_have_text("Stopped early")
    expect(page.locator("#get-picture")).to_be_visible()
    expect(page.locator("#stop")).to_be_hidden()
    page.click("#again")
    page.wait_for_function("() => jigsolve.job.status?.request.seed === 2")
    expect(page.locator("#job-title")).to_have_text("Solving")
    page.click("#stop")


def test_a_queue_is_told_its_place(open_page, stage):
    site = stage(Limits(running=1), frames=10_000, seconds=0.2)
    for _ in range(2):
        site.create(sample="hopper", piece_size=30)
    page = ready(open_page(site.url))
    page.click("#solve")
    page.wait_for_url("**/jobs/*")
    expect(page.locator("#overlay")).to_have_text("Waiting: number 2 in the queue")
    page.click("#stop")
    expect(page.locator("#job-title")).to_have_text("Stopped")


def test_compiling_is_told(open_page, stage):
    site = stage(frames=3, warming=4)
    page = ready(open_page(site.url))
    page.click("#solve")
    page.wait_for_url("**/jobs/*")
    expect(page.locator("#overlay")).to_have_text("Warming up: only once, a minute or two", timeout=MS)
    settled(page)
    expect(page.locator("#overlay")).to_be_hidden()


def test_a_shuffled_puzzle_and_tiles_are_solved(page, photo_bytes, tmp_path):
    (tmp_path / "photo.png").write_bytes(photo_bytes)
    puzzle, _ = Puzzle.from_image(tmp_path / "photo.png", 40).shuffled(3)
    drop(page, ("shuffled.png", encoded(puzzle.assemble(puzzle.as_given()).to_pillow())))
    expect(page.locator("#chosen")).to_have_text("shuffled.png")
    page.check("[name=source][value=puzzle]", force=True)
    expect(page.locator("#count")).to_have_text("Seams tell it, as a rule.")
    settled(solve(page))
    expect(page.locator("#compare-field")).to_be_hidden()
    expect(page.locator("#neighbour")).to_be_hidden()
    puzzle.to_tiles(tmp_path / "tiles")
    page.set_input_files("#file", sorted((tmp_path / "tiles").iterdir()))
    page.click("#back")
    expect(page.locator("#chosen")).to_have_text("20 tiles")
    page.select_option("#columns", "5")
    page.check("[name=preset][value=best]")
    settled(solve(page))
    expect(page.locator("#job-meta")).to_contain_text("20 tiles · 20 pieces · 5 \u00d7 4 · preset best")


# What goes wrong


def test_what_is_no_picture_gets_a_clear_message(page, photo_bytes):
    drop(page, ("notes.txt", b"hello"))
    expect(page.locator("#problem")).to_contain_text("notes.txt is not a picture that can be read")
    drop(page, ("broken.tif", b"II*\0" + bytes(40)))  # Nothing but jigsolve can tell.
    expect(page.locator("#chosen")).to_have_text("broken.tif")
    page.fill("#size-number", "30")
    page.click("#solve")
    page.wait_for_url("**/jobs/*")
    expect(page.locator("#job-problem")).to_contain_text("Broken.tif is ")
    expect(page.locator("#job-title")).to_have_text("This did not work")


def test_too_many_pieces_cannot_be_asked_for(page):
    page.fill("#size-number", "2")
    expect(page.locator("#count")).to_contain_text("at most 25,000 here")
    expect(page.locator("#solve")).to_be_disabled()
    page.fill("#size-number", "30")
    expect(page.locator("#solve")).to_be_enabled()
    page.fill("#seed", "-5")
    page.click("#solve")
    expect(page.locator("#problem")).to_contain_text("Seed must be a whole number from 0")


def test_a_job_that_is_gone_says_so(open_page, site):
    page = open_page(f"{site.url}/jobs/AAAAAAAAAAAAAAAAAAAAAA")
    expect(page.locator("#lost-title")).to_be_visible()


def test_a_crash_is_told(open_page, stage):
    site = stage(frames=100, seconds=0.05, crash=4)
    page = solve(ready(open_page(site.url)))
    expect(page.locator("#job-problem")).to_contain_text("The solving process ended with code 3")


# For everybody


def violations(page):
    found = Axe().run(page).response["violations"]
    return [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible(open_page, site, scheme):
    page = ready(open_page(site.url, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce"))
    assert violations(page) == []
    drop(page, ("notes.txt", b"hello"))
    expect(page.locator("#problem")).to_be_visible()
    assert violations(page) == []
    page.click("[data-sample=hopper]")
    page.check("[name=preset][value=best]")
    settled(solve(page))
    assert violations(page) == []


@pytest.mark.parametrize("width", [360, 3840])
def test_no_screen_is_too_narrow_or_too_wide(open_page, site, width):
    page = ready(open_page(site.url, reduced_motion="reduce"))
    page.set_viewport_size({"width": width, "height": 740 if width < 1000 else 2160})
    overflow = "() => document.documentElement.scrollWidth - innerWidth"
    assert page.evaluate(overflow) <= 0
    settled(solve(page))
    assert page.evaluate(overflow) <= 0
    for name in ("#stage", "#scrub", "#again", "#get-picture", "#chart"):
        box = page.locator(name).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    smallest = page.evaluate(
        "() => Math.min(...[...document.querySelectorAll('button, a, p, dd, dt, label')]"
        ".filter(one => one.offsetParent).map(one => parseFloat(getComputedStyle(one).fontSize)))"
    )
    assert smallest >= (13 if width < 1000 else 20)


def test_the_keyboard_is_enough(open_page, site):
    page = ready(open_page(site.url, reduced_motion="reduce"))

    def focused():
        return page.evaluate("() => document.activeElement.id || document.activeElement.dataset.sample || ''")

    def tab_to(name):
        for _ in range(40):
            page.keyboard.press("Tab")
            if focused() == name:
                return
        raise AssertionError(f"{name} is not reached by Tab")

    tab_to("dusk")
    page.keyboard.press("Enter")
    page.wait_for_function("() => jigsolve.setup.sample === 'dusk' && !jigsolve.setup.loading")
    tab_to("size")
    before = page.locator("#count").inner_text()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#count")).not_to_have_text(before)
    tab_to("solve")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/*")
    settled(page)
    tab_to("stage")
    page.keyboard.press("+")
    page.wait_for_function("() => jigsolve.job.stage.zoom > 1")
    page.keyboard.press("0")
    page.wait_for_function("() => jigsolve.job.stage.zoom === 1")
    page.keyboard.press("Space")
    page.wait_for_function("() => !jigsolve.job.player.atEnd")
    settled(page)
    tab_to("scrub")
    page.keyboard.press("Home")
    expect(page.locator("#scrub-label")).to_have_text("shuffled")
    tab_to("again")
    page.keyboard.press("Enter")
    page.wait_for_function("() => jigsolve.job.status?.request.seed === 2")


def test_less_motion_is_respected(open_page, site):
    page = solve(ready(open_page(site.url, reduced_motion="reduce")))
    settled(page)
    assert page.evaluate("() => jigsolve.job.stage.duration") == 0


# How smooth

RATE = """async ({ seconds, stride }) => {
  const { stage, player } = jigsolve.job;
  player.playing = false;
  stage.onRest = () => {};
  const count = stage.motion.count;
  const shuffled = Uint16Array.from({ length: count }, (_, index) => (index * stride + 13) % count);
  stage.glide(shuffled, 1000 * seconds);
  const [before, begun] = [stage.painted, performance.now()];
  while (stage.gliding) await new Promise((resolve) => requestAnimationFrame(resolve));
  return { rate: (stage.painted - before) / ((performance.now() - begun) / 1000), moving: stage.motion.moving };
}"""


def glide_rate(page, tries=5):
    """The frames a second at which all pieces glide: the best of some tries, as other work is no fault of the page."""
    rates = []
    for stride in (7919, 104_729, 1_299_709, 15_485_863, 49_979_687)[:tries]:  # Primes: every piece moves.
        rates.append(page.evaluate(RATE, {"seconds": 2, "stride": stride})["rate"])
        if rates[-1] >= 45:
            break
    return max(rates)


def paused(page):
    page.wait_for_function("() => jigsolve.job.player.index >= 1")
    page.click("#play")
    return page


@pytest.mark.parametrize(("rows", "columns", "least"), [(50, 100, 30), (123, 185, 8)])
def test_thousands_of_pieces_glide(open_page, stage, rows, columns, least):
    site = stage(rows=rows, columns=columns, frames=3, seconds=0.5)
    page = paused(solve(ready(open_page(site.url))))
    rate = glide_rate(page)
    print(f"{rows * columns} pieces: {rate:.0f} frames a second")
    assert rate >= least


@pytest.mark.parametrize("painter", ["webgl", "2d"])
def test_it_paints_with_and_without_a_graphics_processor(open_page, site, painter):
    page = settled(solve(ready(open_page(f"{site.url}/?painter={painter}", reduced_motion="reduce"))))
    assert page.evaluate("() => jigsolve.job.stage.painter.kind") == painter
    page.locator("#compare").fill("100")
    page.wait_for_function("() => jigsolve.job.original !== null")
    with Image.open(io.BytesIO(stage_pixels(page))) as picture:
        middle = np.asarray(picture.convert("RGB"))[
            picture.height // 2, picture.width // 2 - 50 : picture.width // 2 + 50
        ]
    assert middle.std() > 10  # Something is painted.
    page.click("#zoom-in")
    page.locator("#scrub").fill("0")
    expect(page.locator("#scrub-label")).to_have_text("shuffled")
