"""Three people and what befalls them, in a real browser: a lecturer, a tuner, an auditor; an app that dies; a link that is shared.

What is short runs with every suite, beside test_main_job.py; the long forms of all five are slow tests.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil
import pytest
from browser.conftest import ROOT, let_in, search_neighbours
from browser.test_accessibility import DEPENDS, PAGES
from browser.test_layout import SETTLED
from browser.test_main_job import LINK
from playwright.sync_api import Browser, Locator, Page, expect

from workbench.pages.process.panels import PANELS
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.dossier import QUESTIONS, SECTIONS
from workbench.runs.store import RunStore
from workbench.workspace import Workspace

StartApp = Callable[[], AbstractContextManager[tuple[str, subprocess.Popen]]]
CAUTION = re.compile("Drawn records are easier than some and harder than others")
METHODS = ("class-means", "class-moments")
LONG = 240_000  # milliseconds for a job that trains


def settle(page: Page) -> None:
    """Wait until nothing of the page is missing."""
    page.wait_for_function(SETTLED, timeout=90_000)


def heading(page: Page, name: str) -> Locator:
    """The page's own heading."""
    return page.get_by_role("heading", level=1, name=name)


def downloaded(page: Page, button: str, folder: Path) -> Path:
    """The file that a button gives, of a page that has settled: one that is drawn anew loses the click."""
    settle(page)
    with page.expect_download(timeout=90_000) as waiting:
        page.get_by_role("button", name=button).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def verified(export: Path, dossier: Path) -> int:
    """The exit code of `workbench verify`, by whoever has nothing but the two files."""
    command = [sys.executable, "-m", "workbench.cli", "verify", str(export), "--dossier", str(dossier)]
    return subprocess.run(command, capture_output=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}).returncode


def test_a_lecturer_moves_a_slider_plays_the_attacker_and_takes_the_panel_along(page: Page, server: str, tmp_path: Path) -> None:
    page.goto(f"{server}/process?process_forward_time=100")
    expect(heading(page, "Process")).to_be_visible()
    expect(page.get_by_role("img", name="Ten digits at time step 100")).to_be_visible()
    slider = page.get_by_role("slider", name="Time step t")
    slider.press("ArrowRight")
    expect(page).not_to_have_url(re.compile("process_forward_time=100$|process_forward_time=100&"))
    expect(page.get_by_role("img", name="Ten digits at time step 100")).to_have_count(0)

    page.goto(f"{server}/budget?budget_method=dp-merf&budget_epsilon=1&budget_dial=1")
    sure = page.get_by_text(re.compile("can become .* sure at most"))
    expect(sure).to_contain_text("73.1")
    page.get_by_role("slider", name="Epsilon").press("ArrowRight")
    expect(sure).not_to_contain_text("73.1")
    page.goto(f"{server}/process")
    expect(heading(page, "Process")).to_be_visible()

    page.get_by_role("radio", name="You are the attacker").or_(page.get_by_role("button", name="You are the attacker")).first.click()
    expect(page.get_by_text("Nothing guessed yet.")).to_be_visible()
    for count in (1, 2):
        page.get_by_role("button", name="Surely yes").click()
        expect(page.get_by_text(re.compile(rf"Run {count}: you said “Surely yes”"))).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text(re.compile("Run 1: you said"))).to_be_visible()
    page.reload()
    expect(page.get_by_text(re.compile("Run 1: you said"))).to_be_visible()
    page.go_back()
    page.go_forward()
    expect(page.get_by_text(re.compile("Run 1: you said"))).to_be_visible()
    panel = downloaded(page, "This panel as a file", tmp_path)
    assert panel.suffix == ".html"
    assert "You are the attacker" in panel.read_text()


def test_a_link_shows_the_same_in_another_browser(browser: Browser, page: Page, server: str, app_address: str, finished_run: str) -> None:
    page.goto(f"{server}/gallery?gallery_run={finished_run}")
    expect(heading(page, "Gallery")).to_be_visible()
    search_neighbours(page)
    page.get_by_role("combobox", name=re.compile("On a page")).click()
    page.get_by_role("option").nth(1).click()
    expect(page).to_have_url(re.compile("gallery_size="))
    settle(page)
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    other = context.new_page()
    let_in(other, app_address)
    other.goto(page.url)
    expect(other.get_by_role("img", name=re.compile("Nearest training record")).first).to_be_visible(timeout=90_000)
    settle(other)
    for what in ("Nearest training record", "Nearest held-out record"):
        first, second = (
            [image.get_attribute("src") for image in shown.get_by_role("img", name=re.compile(what)).all()] for shown in (page, other)
        )
        assert len(first) > 10
        assert [str(one).rpartition("/")[2] for one in first] == [str(one).rpartition("/")[2] for one in second]

    # a verdict given in one stands in the other once it is drawn anew, and nothing of the other is lost
    other.get_by_role("radio", name="copied").or_(other.get_by_role("button", name="copied")).first.click()
    said = re.compile("1 of 1,500 samples looked at: 1 copied")
    expect(other.get_by_text(said)).to_be_visible()
    page.reload()
    expect(page.get_by_text(said)).to_be_visible()
    context.close()


@pytest.mark.slow(depends=DEPENDS)
def test_a_tuner_tries_on_drawn_records_sweeps_and_compares(page: Page, server: str, home: Path) -> None:
    page.goto(f"{server}/budget?{LINK.replace('train_', 'budget_')}")
    expect(heading(page, "Budget")).to_be_visible()
    page.get_by_role("button", name="Try it on drawn records").click()
    expect(page.get_by_text(CAUTION)).to_be_visible(timeout=LONG)
    settle(page)
    page.get_by_role("button", name="Carry to the Train page").click()
    expect(heading(page, "Train")).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Target epsilon")).to_have_value("5")

    page.get_by_text("Sweep: several methods, epsilons, settings and seeds").click()
    methods = page.get_by_role("combobox", name=re.compile("Methods"))
    methods.click()
    expect(page.get_by_text("is being measured")).to_have_count(0, timeout=LONG)
    expect(page.get_by_role("option", name=METHODS[0], exact=True)).to_be_visible()  # the expected time arrives: what is open stays open
    for name in METHODS:
        settle(page)  # what is typed while a page is drawn anew is lost
        methods.fill(name)
        page.get_by_role("option", name=name, exact=True).click()
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("train_sweep_methods="))
    settle(page)
    page.get_by_role("button", name="Show what it costs").click()
    expect(page.get_by_text("Epsilon of all runs")).to_be_visible(timeout=LONG)
    page.get_by_role("button", name="Launch 4 runs").click()
    expect(page.get_by_text("4 of 4 runs measured")).to_be_visible(timeout=LONG)

    runs = [run.id for run in RunStore(Workspace.open(home / "home")).list() if run.method in METHODS]
    assert len(runs) == 4
    page.goto(f"{server}/runs?{'&'.join(f'runs_chosen={run}' for run in runs)}")
    expect(page.get_by_role("heading", name="Comparison")).to_be_visible()
    expect(page.get_by_text("Settings that differ")).to_be_visible()
    for run in runs:
        expect(page.get_by_role("heading", name=f"Run {run}")).to_be_visible()


@pytest.mark.slow(depends=DEPENDS)
def test_an_auditor_judges_by_keyboard_attacks_and_takes_a_dossier(page: Page, server: str, finished_run: str, tmp_path: Path) -> None:
    page.goto(f"{server}/gallery?gallery_run={finished_run}&gallery_queue=true")
    expect(heading(page, "Gallery")).to_be_visible()
    search = page.get_by_role("button", name="Draw samples and search their neighbours")
    shown = page.get_by_text(re.compile(r"[\d,]+ of 1,500 judged"))
    expect(search.or_(shown).first).to_be_visible()
    if search.count():
        search.click()
    expect(shown).to_be_visible()
    judged = int(re.search(r"([\d,]+) of", shown.inner_text()).group(1).replace(",", ""))  # type: ignore[union-attr]
    for more, key in enumerate("312", 1):
        heading(page, "Gallery").click()
        page.keyboard.press(key)
        expect(page.get_by_text(f"{judged + more:,} of 1,500 judged")).to_be_visible()
    page.keyboard.press("z")
    expect(page.get_by_text(f"{judged + 2:,} of 1,500 judged")).to_be_visible()

    page.goto(f"{server}/audit?audit_run={finished_run}&audit_what=Copies")
    page.get_by_role("button", name="Look for copies").click()
    expect(page.get_by_text("Training records extracted")).to_be_visible(timeout=LONG)

    page.goto(f"{server}/audit?audit_run={finished_run}")
    page.get_by_role("button", name="Plan it with canaries").click()
    expect(heading(page, "Train")).to_be_visible()
    settle(page)
    page.locator("summary").filter(has=page.get_by_text("Audit", exact=True)).click()
    expect(page.get_by_role("spinbutton", name="Canaries", exact=True)).to_have_value("200")

    page.goto(f"{server}/dossier?dossier_run={finished_run}")
    expect(heading(page, "Dossier")).to_be_visible()
    page.get_by_text(SECTIONS["signature"], exact=True).click()
    signer = page.get_by_role("textbox", name=QUESTIONS["signer"].asks)
    signer.fill("Ada Lovelace")
    signer.press("Tab")
    expect(page.get_by_text(f"1 of {len(QUESTIONS)} questions have an answer")).to_be_visible()
    settle(page)
    outside, room, export = (downloaded(page, name, tmp_path) for name in ("Dossier to release", "Private dossier", "Its export"))
    assert "Ada Lovelace" in outside.read_text()
    assert "data:image/png" in room.read_text()
    assert "data:image/png" not in outside.read_text(), "no record leaves"
    assert verified(export, outside) == 0
    outside.write_text(outside.read_text().replace("Ada Lovelace", "Eve"))
    assert verified(export, outside) == 1


@pytest.mark.slow(depends=DEPENDS)
def test_a_lecturer_shows_every_panel_and_takes_each_along(browser: Browser, page: Page, server: str, tmp_path: Path) -> None:
    without = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    page.goto(f"{server}/process")
    for name, panel in PANELS.items():
        page.get_by_role("radio", name=panel.title).or_(page.get_by_role("button", name=panel.title)).first.click()
        expect(page.get_by_text(panel.lead)).to_be_visible()
        file = downloaded(page, "This panel as a file", tmp_path)
        assert file.name == f"{name}.html"
        other = without.new_page()
        broken: list[str] = []
        other.on("pageerror", lambda error, broken=broken: broken.append(str(error)))
        other.goto(file.as_uri())
        expect(other.get_by_role("heading", name=panel.title)).to_be_visible()
        expect(other.locator("img:visible, .main-svg:visible").first).to_be_visible()
        assert broken == []
    without.close()


@pytest.mark.slow(depends=DEPENDS)
def test_a_run_outlives_its_worker_and_its_app_and_ends_at_the_planned_bound(browser: Browser, start_app: StartApp, home: Path) -> None:
    pages = browser.new_context(viewport={"width": 1400, "height": 1000})
    pages.set_default_timeout(120_000)
    with start_app() as (address, process):
        page = pages.new_page()
        page.goto(f"{address.replace('/?', '/train?')}&{LINK.replace('train_set.training.steps=300', 'train_set.training.steps=5000')}")
        page.get_by_role("button", name="Launch").click()
        expect(page).to_have_url(re.compile("train_run="))
        run = re.search(r"train_run=([a-z0-9]{8})", page.url)
        assert run is not None
        expect(page.get_by_text(re.compile(r"step [1-9][\d,]* of 5,001"))).to_be_visible()
        process.kill()
        process.wait(timeout=30)
        worker = RunStore(Workspace.open(home / "home")).get(run.group(1)).process
        assert worker is not None
        psutil.Process(worker["pid"]).kill()
    with start_app() as (address, _):
        page = pages.new_page()
        page.goto(f"{address.replace('/?', '/train?')}&train_run={run.group(1)}")
        expect(page.get_by_text("lost", exact=True).first).to_be_visible()
        page.get_by_role("button", name="Resume").click()
        expect(page.get_by_text(re.compile("step 5,001 of 5,001"))).to_be_visible(timeout=LONG)
        expect(page.get_by_text("done", exact=True).first).to_be_visible()
    pages.close()
    ended = RunStore(Workspace.open(home / "home")).get(run.group(1))
    assert ended.state == "done"
    spent = Ledger(Workspace.open(home / "home").ledger).epsilon_spent(ended.id, ended.plan.delta).epsilon
    assert spent == pytest.approx(ended.plan.bound.epsilon), "one release, counted once"


@pytest.mark.slow(depends=DEPENDS)
def test_every_page_s_address_shows_the_same_in_another_browser(
    browser: Browser, page: Page, server: str, app_address: str, finished_run: str, figures: dict[str, Any]
) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    other = context.new_page()
    let_in(other, app_address)
    shown: dict[str, str] = {}
    for name, address in PAGES.items():
        page.goto(f"{server}/{address.format(run=finished_run)}")
        expect(page.locator("h1")).to_be_visible()
        settle(page)
        expect(page.get_by_text("being measured")).to_have_count(0, timeout=LONG)  # or the other browser is told the pace, and this one not
        settle(page)
        other.goto(page.url)
        expect(other.locator("h1")).to_be_visible()
        settle(other)
        first, second = (re.sub(r"memory: [\d.]+", "memory: some", one.get_by_test_id("stMain").inner_text()) for one in (page, other))
        assert second == first, name
        shown[name] = first
    context.close()
    assert min(map(len, shown.values())) > 200
    figures |= {"pages": len(shown), "characters": sum(map(len, shown.values()))}
