"""How quick the pages are with a thousand runs and a gallery of ten thousand images, and whether the app's memory stays as it is.

For a machine that does nothing else. `make test-slow ARGS="tests/browser/test_speed.py --rerun"` measures alone.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import pytest
from browser.conftest import ROOT, app_on, let_in
from browser.test_accessibility import DEPENDS
from browser.test_first_minutes import settled
from playwright.sync_api import Browser, Locator, Page, expect
from support.homes import with_copies

from workbench.jobs.registry import registry
from workbench.workspace import Workspace

RUNS, IMAGES, ROUNDS = 1_000, 10_000, 9
PAGE_SECONDS, ANSWER_SECONDS = 1.5, 0.5
INTERACTIONS, SETTLING, GROWTH = 500, 100, 1.05
CHANGES = ("Runs", "Gallery", "Budget", "Train", "Audit", "Dossier", "Records", "Process", "Claims", "Tables", "Start")


def command(home: Path, *words: str) -> str:
    """What a command of the workbench prints, with its runs under `home`."""
    environment = {**os.environ, "WORKBENCH_HOME": str(home / "home"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-m", "workbench.cli", *words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a finished run, its ten thousand images beside their nearest records, and copies of its rows."""
    home = tmp_path_factory.mktemp("speed")
    made = command(home, "train", "class-moments", "--dataset", "digits", "--epsilon", "10", "--wait")
    run = re.search(r'\{"run": "([a-z0-9]{8})"\}', made)
    assert run is not None
    command(home, "neighbours", run.group(1), "--num", str(IMAGES), "--out", str(home / "gallery.html"))
    with_copies(registry(Workspace.open(home / "home")), RUNS - 1)
    return home


@pytest.fixture
def opened(browser: Browser, crowded: Path) -> Iterator[tuple[Page, str, int]]:
    """A page that has been let in, the address, and the app's process."""
    with app_on(crowded) as (address, process):
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        page = context.new_page()
        page.set_default_timeout(120_000)
        yield page, let_in(page, address), process.pid
        context.close()


def timed(page: Page, act: Callable[[], Any]) -> float:
    """Seconds from an act until the page has settled."""
    began = time.perf_counter()
    act()
    return settled(page, began)


def opened_option(page: Page, box: Locator, place: int) -> Locator:
    """An option of a box whose list is open: a click on a box that has the focus may close it."""
    option = page.get_by_role("option").nth(place)
    box.click()
    with suppress(AssertionError):
        expect(option).to_be_visible(timeout=2_000)
        return option
    box.press("ArrowDown")
    expect(option).to_be_visible()
    return option


@pytest.mark.slow(depends=DEPENDS)
def test_a_change_of_page_and_a_widgets_answer(opened: tuple[Page, str, int], figures: dict[str, Any]) -> None:
    page, address, _ = opened
    page.goto(f"{address}/runs")
    settled(page, time.perf_counter())
    changes: dict[str, list[float]] = {name: [] for name in CHANGES}
    for _ in range(ROUNDS):
        for name in CHANGES:
            link = page.get_by_role("link", name=name, exact=True).first
            changes[name].append(timed(page, link.click))
    widgets = {
        "runs, a filter": (f"{address}/runs", lambda: page.get_by_role("combobox", name=re.compile("Order"))),
        "gallery, the order": (f"{address}/gallery", lambda: page.get_by_role("combobox", name=re.compile("Order"))),
    }
    answers: dict[str, list[float]] = {name: [] for name in widgets}
    for name, (place, box) in widgets.items():
        page.goto(place)
        settled(page, time.perf_counter())
        for turn in range(ROUNDS):
            option = opened_option(page, box(), turn % 2)
            answers[name].append(timed(page, option.click))
    page.goto(f"{address}/process")
    settled(page, time.perf_counter())
    slider = page.get_by_role("slider", name="Time step t")
    keys = ("ArrowRight", "ArrowLeft")
    answers["process, the slider"] = [timed(page, partial(slider.press, keys[turn % 2])) for turn in range(ROUNDS)]
    medians = {name: round(median(times), 2) for name, times in (changes | answers).items()}
    figures |= medians
    assert {name: seconds for name, seconds in medians.items() if seconds > (PAGE_SECONDS if name in CHANGES else ANSWER_SECONDS)} == {}


@pytest.mark.slow(depends=DEPENDS)
def test_memory_stays_as_it_is_over_interactions(opened: tuple[Page, str, int], figures: dict[str, Any]) -> None:
    page, address, pid = opened
    page.goto(f"{address}/runs")
    settled(page, time.perf_counter())
    server, sizes = psutil.Process(pid), []
    slider = page.get_by_role("slider", name="Time step t")
    names = cycle([*CHANGES, *["slider"] * len(CHANGES)])  # every page in turn, and a slider as often
    while len(sizes) < INTERACTIONS:
        name = next(names)
        if name == "slider" and not slider.count():
            timed(page, page.get_by_role("link", name="Process", exact=True).first.click)
        one = page.get_by_role("link", name=name, exact=True).first
        timed(page, partial(slider.press, ("ArrowRight", "ArrowLeft")[len(sizes) // 5 % 2]) if name == "slider" else one.click)
        sizes.append(server.memory_info().rss)
    before, after = median(sizes[SETTLING : SETTLING + 50]), median(sizes[-50:])
    figures |= {"interactions": INTERACTIONS, "pages": len(CHANGES), "MiB before": round(before / 2**20), "MiB after": round(after / 2**20)}
    assert after <= GROWTH * before
