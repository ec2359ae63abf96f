"""What a person sees on a small projector: plots above the fold, gallery cards in one line, and no run under another one's name."""

import os
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from browser.conftest import ROOT, TINY, app_on, let_in, search_neighbours
from playwright.sync_api import Locator, Page, ViewportSize, expect

from workbench.server import start
from workbench.ui.choices import SETTINGS
from workbench.ui.theme import TEXT

PROJECTOR: ViewportSize = {"width": 1280, "height": 720}
SLOW_SECONDS = 2.0
SLOW_DRAWING = f"""
import sys, time
from workbench.server.start import serve
from workbench.pages.train import watch as live
draw = live.show_run
live.show_run = lambda run, prefix: (time.sleep({SLOW_SECONDS}), draw(run, prefix))
serve(int(sys.argv[-1]))
"""  # the app on a machine so busy that it takes its time to draw a run
SEEN = """() => {
  window.seen = [];
  const look = () => {
    const name = document.querySelector('input[aria-label$="Run"], [role="combobox"][aria-label$="Run"]')?.value ?? '';
    const text = document.querySelector('[data-testid="stMain"]').innerText;
    const last = window.seen.at(-1);
    if (!last || last[1] !== name || last[2] !== text) window.seen.push([performance.now(), name, text]);
    requestAnimationFrame(look);
  };
  look();
}"""
SETTLED = """() => document.querySelector('[data-testid="stApp"]')?.getAttribute('data-test-script-state') === 'notRunning'
  && document.querySelectorAll('[data-testid="stSkeleton"]').length === 0 && [...document.images].every(image => image.complete)"""
DRAWN = """images => images.map(image => {
  const {x, y, width, height} = image.getBoundingClientRect(), style = getComputedStyle(image);
  return {name: image.getAttribute('aria-label') || image.alt, x, y, width, height, stored: image.naturalWidth, inner: image.clientWidth,
          corner: style.borderRadius, rendering: style.imageRendering};
})"""


def box(locator: Locator) -> dict[str, float]:
    """Where an element is drawn, in pixels."""
    bounds = locator.bounding_box()
    assert bounds is not None
    return {name: float(bounds[name]) for name in ("x", "y", "width", "height")}


@pytest.fixture
def only(home: Path, finished_run: str) -> str:
    """A tag that the finished run alone has: other tests' runs would make the list of runs longer."""
    environment = {**os.environ, "WORKBENCH_HOME": str(home / "home"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "workbench.cli", "label", finished_run, "--tag", "only"]
    subprocess.run(command, env=environment, capture_output=True, check=True)
    return "only"


@pytest.mark.parametrize("address", ["budget", "runs?runs_chosen={run}&runs_tags={only}", "train?train_run={run}"])
def test_the_first_plot_shows_without_scrolling(page: Page, server: str, finished_run: str, only: str, address: str) -> None:
    page.set_viewport_size(PROJECTOR)
    page.goto(f"{server}/{address.format(run=finished_run, only=only)}")
    plot = page.locator(".js-plotly-plot").first
    expect(plot).to_be_visible(timeout=90_000)
    page.wait_for_function(SETTLED, timeout=90_000)
    drawn = box(plot)
    assert drawn["y"] + drawn["height"] / 2 <= PROJECTOR["height"], drawn
    assert drawn["y"] > box(page.locator("h1"))["y"] >= 0, "nothing has been scrolled"
    assert_it_offers_no_upload(page)


def assert_it_offers_no_upload(page: Page) -> None:
    """That the toolbars of the charts have their buttons, and none that sends a chart to somebody's server."""
    expect(page.locator('.modebar-btn[data-title="Pan"]').first).to_be_attached()
    expect(page.locator('.modebar-btn[data-title^="Share"]')).to_have_count(0)


def test_a_gallery_card_is_one_line_of_square_pixels(page: Page, server: str, finished_run: str) -> None:
    page.set_viewport_size(PROJECTOR)
    page.goto(f"{server}/gallery?gallery_run={finished_run}")
    search_neighbours(page)
    page.wait_for_function(SETTLED, timeout=90_000)
    card = page.get_by_role("img", name=re.compile("Generated sample|Nearest (training|held-out) record"))
    pictures = card.evaluate_all(DRAWN)[:7]  # of one frame: cards still move while others are added below
    kinds = {str(image.get_attribute("src")).partition(";")[0] for image in card.all()[:7]}
    assert kinds == {"data:image/png"}, "a pixel is shown as it is"
    names = [picture["name"] for picture in pictures]
    assert ["Generated" in name for name in names] == [True] + 6 * [False], names
    assert ["held-out" in name for name in names] == 6 * [False] + [True], names
    assert len({round(picture["y"]) for picture in pictures}) == 1, pictures
    assert all(left["x"] + left["width"] <= right["x"] for left, right in pairwise(pictures)), pictures
    for picture in pictures:
        assert (picture["corner"], picture["rendering"]) == ("0px", "pixelated")
        assert picture["stored"] == 8
        assert picture["inner"] == 56, "each pixel of the record is a whole number of the screen's"


def test_what_comes_to_be_expected_moves_no_button_under_a_press(page: Page, server: str) -> None:
    page.set_viewport_size(PROJECTOR)
    page.goto(f"{server}/train?train_method=dp-merf&train_{SETTINGS}num_features=61")  # whose pace no other test has had measured
    launch = page.get_by_role("button", name="Launch")
    expect(page.get_by_text("is being measured")).to_be_visible(timeout=90_000)
    page.wait_for_function(SETTLED)
    launch.scroll_into_view_if_needed()
    before = launch.bounding_box()
    expect(page.get_by_text("Expected memory")).to_be_visible(timeout=180_000)
    page.wait_for_function(SETTLED)
    assert launch.bounding_box() == before


def test_a_launched_run_does_not_show_what_belongs_to_the_one_before(page: Page, home: Path, finished_run: str) -> None:
    settings = {f"{SETTINGS}{name}": value for name, value in (TINY | {"training.steps": "60000"}).items()}
    choices = {"method": "dp-merf", "device": "cpu", "speed.num_threads": "1"} | settings
    link = "&".join(f"train_{name}={value}" for name, value in choices.items())
    with app_on(home, SLOW_DRAWING) as (address, _):
        page.goto(f"{let_in(page, address)}/train?{link}&train_run={finished_run}")
        expect(page.get_by_text("samples and weights may be released").first).to_be_visible(timeout=90_000)
        expect(page.get_by_role("button", name="Launch")).to_be_enabled(timeout=90_000)
        page.evaluate(SEEN)
        page.get_by_role("button", name="Launch").click()
        expect(page.get_by_role("button", name="Cancel")).to_be_visible(timeout=90_000)
        launched = re.search(r"train_run=([a-z0-9]{8})", page.url)
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("cancelled", exact=True).first).to_be_visible(timeout=90_000)
        seen = page.evaluate("window.seen")
        page.goto("about:blank")  # or it would look for the app after its end
    assert launched is not None
    under_its_name = [
        (after - before, text) for (before, name, text), (after, _, _) in pairwise(seen) if name.startswith(launched.group(1))
    ]
    assert under_its_name
    mixed = sum(milliseconds for milliseconds, text in under_its_name if "may be released" in text)
    assert mixed < 1000 * SLOW_SECONDS / 4, f"the badge of the run before stood there for {mixed:.0f} ms"


SHADES = """() => {
  const ground = getComputedStyle(document.querySelector('[data-testid="stApp"]')).backgroundColor;
  const charts = [...document.querySelectorAll('.js-plotly-plot .main-svg')].map(element => getComputedStyle(element).backgroundColor);
  return {ground, charts: charts.filter(colour => colour !== 'rgba(0, 0, 0, 0)'),
          ink: getComputedStyle(document.querySelector('[data-testid="stApp"]')).color,
          text: getComputedStyle(document.querySelector('.js-plotly-plot .xtitle')).fill,
          caption: getComputedStyle(document.querySelector('[data-testid="stCaptionContainer"] p')).color};
}"""


CHART_WORDS = """() => [...document.querySelectorAll('.js-plotly-plot :is(.xtick text, .ytick text, .xtitle, .ytitle, .legendtext)')].map(
  element => ({fill: getComputedStyle(element).fill, size: getComputedStyle(element).fontSize}))"""


def test_page_and_chart_take_the_systems_theme_and_the_menus(page: Page, server: str, finished_run: str) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(f"{server}/train?train_run={finished_run}")
    expect(page.locator(".js-plotly-plot .xtitle").first).to_be_visible(timeout=90_000)
    themes = tomllib.loads(start.SETTINGS.read_text())["theme"]
    for name in ("dark", "light"):
        ground = "rgb({}, {}, {})".format(*rgb(themes[name]["backgroundColor"]))
        page.wait_for_function(f"(ground) => {{ const {{ground: page, charts}} = ({SHADES})(); return page === ground && charts.length &&"
                               " charts.every(colour => colour === ground); }", arg=ground)  # fmt: skip
        shades = page.evaluate(SHADES)
        assert {(words["fill"], words["size"]) for words in page.evaluate(CHART_WORDS)} == {(shades["ink"], f"{TEXT}px")}
        for words in (shades["text"], shades["caption"]):
            bright = sum(map(int, re.findall(r"\d+", words)[:3])) / 3
            assert abs(bright - sum(rgb(themes[name]["backgroundColor"])) / 3) > 90, (name, shades)
        if name == "dark":
            page.locator('[data-testid="stMainMenu"]').click()
            page.locator('[data-testid="stMainMenuPopover"]').get_by_text("Light").click()


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of #rrggbb."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
