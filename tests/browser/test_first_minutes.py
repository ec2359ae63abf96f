"""The first minutes in a browser: the title and the settled page on first opening beside an empty app, and a new target epsilon.

For a machine that does nothing else. `make test-slow ARGS="tests/browser/test_first_minutes.py --rerun"` measures alone.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from browser.conftest import ROOT, app_on, free_port, printed_address
from playwright.sync_api import Browser, Page, expect

from workbench.methods import METHODS

ROUNDS = 9
QUIET_SECONDS = 0.3  # without a running state: the page has settled
TITLE_RATIO, FIRST_SECONDS = 1.5, 3.0
ANSWER_SECONDS = 1.5  # until claim and bound of a new target stand there, as long as a change of page
WHOLE_SECONDS = 2.0  # until every chart below them has followed
STATE = "document.querySelector('[data-testid=\"stApp\"]')?.getAttribute('data-test-script-state') ?? 'none'"
NUMBERS = "[...document.querySelectorAll('[data-testid=\"stMetricValue\"]')].slice(0, 2).map(one => one.innerText).join()"  # claim, bound
EMPTY = 'import streamlit as st\nst.title("Empty", anchor=False)\n'
CALIBRATED = [name for name, kind in METHODS.items() if "image" in kind.kinds and kind.calibrated_fields and "bound" in kind.targets]
DEPENDS = [
    "workbench/pages/__init__.py",
    "workbench/pages/budget/**",
    "workbench/pages/start/**",
    "workbench/pages/claims/**",
    "workbench/ui/**",
    "workbench/methods/**",
    "workbench/privacy/**",
    "workbench/server/**",
]


@contextmanager
def empty_app(folder: Path) -> Iterator[str]:
    """An app of one title under the workbench's own settings: its address."""
    folder.mkdir()
    script, log, port = folder / "empty.py", folder / "log", free_port()
    script.write_text(EMPTY)
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
    with log.open("w") as file:
        process = subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=file)
    try:
        yield printed_address(log, process)
    finally:
        process.terminate()
        process.wait(timeout=30)


def settled(page: Page, began: float) -> float:
    """Seconds from `began` until the page has stopped running, and stayed so for QUIET_SECONDS."""
    quiet_since = None
    while time.perf_counter() - began < 120:
        now = time.perf_counter()
        if page.evaluate(STATE) != "notRunning":
            quiet_since = None
        elif quiet_since is None:
            quiet_since = now
        elif now - quiet_since >= QUIET_SECONDS:
            return quiet_since - began
        time.sleep(0.01)
    raise AssertionError("The page did not settle within 120 s.")


def first_opening(browser: Browser, address: str) -> tuple[float, float]:
    """Seconds until the title shows, and until the page has settled, in a browser that knows nothing of the app."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.locator("h1").wait_for(state="visible", timeout=120_000)
    title = time.perf_counter() - began
    whole = settled(page, began)
    context.close()
    return title, whole


@pytest.mark.slow(depends=DEPENDS)
def test_the_first_opening(browser: Browser, tmp_path: Path, figures: dict[str, Any]) -> None:
    empty, ours = [], []
    for number in range(ROUNDS):
        with empty_app(tmp_path / f"empty {number}") as address:
            empty.append(first_opening(browser, address))
        home = tmp_path / f"ours {number}"
        home.mkdir()
        with app_on(home) as (address, _):
            ours.append(first_opening(browser, address))
    titles = median(title for title, _ in empty), median(title for title, _ in ours)
    whole = median(seconds for _, seconds in ours)
    figures["title, empty app (s)"], figures["title (s)"] = (round(value, 2) for value in titles)
    figures["settled (s)"] = round(whole, 2)
    assert titles[1] <= TITLE_RATIO * titles[0]
    assert whole <= FIRST_SECONDS


@pytest.mark.slow(depends=DEPENDS)
def test_another_epsilon(browser: Browser, tmp_path: Path, figures: dict[str, Any]) -> None:
    answers, wholes = {}, {}
    with app_on(tmp_path) as (address, _):
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        page = context.new_page()
        page.goto(address)
        for method in CALIBRATED:
            page.goto(f"{address.partition('/?')[0]}/budget?budget_method={method}")
            settled(page, time.perf_counter())
            for made_meanwhile in ("A small example run is being made", "is being measured"):  # by the page itself, once, beside a reader
                expect(page.get_by_text(made_meanwhile)).to_have_count(0, timeout=400_000)
            times = [changed(page, 2.0 + number) for number in range(ROUNDS)]
            answers[method], wholes[method] = (median(seconds) for seconds in zip(*times, strict=True))
            figures[f"{method} (s)"] = f"{answers[method]:.2f}, whole page {wholes[method]:.2f}"
        context.close()
    assert answers
    assert {method: seconds for method, seconds in answers.items() if seconds > ANSWER_SECONDS} == {}
    assert {method: seconds for method, seconds in wholes.items() if seconds > WHOLE_SECONDS} == {}


def changed(page: Page, epsilon: float) -> tuple[float, float]:
    """Seconds after another target epsilon until claim and bound have followed, and until the page has settled."""
    field, before = page.get_by_role("spinbutton", name="Target epsilon"), page.evaluate(NUMBERS)
    field.fill(f"{epsilon:g}")
    began = time.perf_counter()
    field.press("Enter")
    page.wait_for_function(f"before => {NUMBERS} !== before", arg=before, timeout=60_000)
    answered = time.perf_counter() - began
    return answered, settled(page, began)
