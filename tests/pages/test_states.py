"""Every page with no run, one, one that failed, one that was lost, and a thousand: nothing breaks, and what there is to do is said."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pages.conftest import app_at
from pages.reading import elements, text_of
from support.homes import here, with_copies
from support.launchers import Nowhere

from workbench import datasets, runs
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.registry import registry
from workbench.pages import PAGES
from workbench.planning import make_plan
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.training.state import PerformanceSettings

MANY = 1_000


def no_run() -> None:
    """A home that nobody has used."""


def one_run() -> None:
    """The prepared home without its example."""
    RunStore(here()).delete(RunStore(here()).list()[-1].id)


def ended(state: str, error: str) -> Run:
    """A run that ended like that, and no other."""
    plan = make_plan("dp-merf", datasets.facts("digits"), epsilon=10.0)
    run = runs.register(here(), plan, "digits", performance=PerformanceSettings(device="cpu"))
    return RunStore(here()).change(run.id, {"queued"}, "ended", state=state, error=error, attempt=1)


def failed() -> None:
    """A run that ran out of memory."""
    ended("failed", "The device has no memory left: take a smaller microbatch size.")


def lost() -> None:
    """A run whose worker was killed."""
    ended("lost", "Its process ended without a word, 12 s after its last sign.")


def thousand() -> None:
    """The finished run, and copies of its rows: every state that a run may end in, several methods, tags."""
    one_run()
    with_copies(registry(here()), MANY - 1)


STATES: dict[str, Callable[[], None]] = {"none": no_run, "one": one_run, "failed": failed, "lost": lost, "thousand": thousand}
OF_PREPARED = ("one", "thousand")  # states that begin with the prepared home
NOT_YET = "Train one on the Train page, then come back."
EMPTY = {  # what a page says that has nothing to show, and leads to what it can show
    "start": "No run has finished here yet. The tour is on a small example, made in the background in a minute or two.",
    "train": "Choose a configuration, see what it costs before any record is touched",
    "runs": "No run yet. The Train page starts one.",
    "gallery": f"No run has finished yet. {NOT_YET}",
    "tables": f"No run on a table has finished yet. {NOT_YET}",
    "audit": f"No run has finished yet. {NOT_YET}",
    "records": f"No run has finished yet. {NOT_YET}",
    "dossier": f"No run has finished yet. {NOT_YET}",
    "claims": "Nothing has been spent yet: no run has touched a private record.",
    "budget": "Compare within a row, not between rows",
    "process": "How much noise hides a picture from the eye",
}
SHOW_RUNS = ("start", "train", "runs", "gallery", "audit", "records", "dossier")  # the run of the prepared home is of images
SHOW_ENDED = ("train", "runs")  # pages that say of a run that did not finish why, and what there is to do


@pytest.fixture(scope="module")
def homes(prepared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A home in each state."""
    made = {state: tmp_path_factory.mktemp("states") / state for state in STATES}
    for state, folder in made.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("WORKBENCH_HOME", str(folder))
            patch.delenv("WORKBENCH_DATA", raising=False)
            patch.setitem(LAUNCHERS, "local", Nowhere())
            if state in OF_PREPARED:
                shutil.copytree(prepared_home, folder)
            STATES[state]()
            folder.mkdir(exist_ok=True)
    return made


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_in_every_state(
    page: str, state: str, homes: dict[str, Path], workbench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    shutil.copytree(homes[state], workbench_home, dirs_exist_ok=True)
    app = app_at(page).run()
    assert not app.exception
    assert [error.value for error in app.error] == []
    assert len(app.title) == 1
    said = text_of(app) + "\n".join(str(getattr(element, "label", "")) for element in elements(app.main))
    longest = max(said.splitlines(), key=len)
    assert len(longest) < 1_500, f"a wall of words: {longest[:200]}"
    known = RunStore(here()).list()
    if state in OF_PREPARED:
        assert known[0].state == "done"
        assert known[0].id in said or page not in SHOW_RUNS
    elif state == "none" or page not in ("start", "runs", "claims"):
        assert EMPTY[page] in said
    ways = [element.proto.label for element in elements(app.main) if element.type == "page_link"]
    assert page != "tables" or "Plan one on the bundled table" in ways
    if state in ("failed", "lost") and page in SHOW_ENDED:
        assert known[0].error is not None
        assert known[0].error in said
        assert f"[{state}]" in said
        assert any("resume" in (button.key or "") for button in app.button)
        assert "It ended before it generated a record." in said
