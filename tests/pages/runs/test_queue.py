"""The queue at the top of the Runs page: what waits, why, and what a person does about it."""

import re
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from pages.reading import text_of
from streamlit.testing.v1 import AppTest
from support.homes import here
from support.launchers import Nowhere

from workbench import runs
from workbench.datasets import load
from workbench.errors import WorkbenchError
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.queue import passing
from workbench.jobs.queue.line import line
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.training.state import PerformanceSettings
from workbench.ui.queue import devices

OpenPage = Callable[..., AppTest]


@pytest.fixture
def three_runs(home_with_runs: object, monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """One that stands at its start and two that wait, without a queue's process: this test looks after it."""
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    monkeypatch.setattr(passing, "ensure_process", lambda _: None)
    digits = load("digits")
    plan = make_plan("dp-merf", digits.facts, settings={"noise_multiplier": 2.0, "training.steps": 3})
    return [runs.launch(here(), plan, "digits", performance=PerformanceSettings(device="cpu"), loaded=digits) for _ in range(3)]


def states(made: list[Run]) -> list[str]:
    return [RunStore(here()).get(run.id).state for run in made]


def waiting() -> list[str]:
    return [entry.job.id for entry in line(here()).entries if entry.place]


def test_it_shows_what_waits_and_why_and_nothing_where_nothing_does(open_page: OpenPage) -> None:
    assert "Queue" not in [header.value for header in open_page("runs").header]


def test_each_device_has_its_jobs() -> None:
    terms = SimpleNamespace(device="cuda")
    jobs = [("a", "running", "cuda:1"), ("b", "running", "cpu"), ("c", "queued", ""), ("d", "starting", "")]
    entries = [SimpleNamespace(job=SimpleNamespace(id=name, state=state, placed=placed, terms=terms)) for name, state, placed in jobs]
    memory = SimpleNamespace(total=8 * 2**30, available=6 * 2**30)
    summary = devices(SimpleNamespace(entries=entries), memory)  # type: ignore[arg-type]
    assert summary == "CPU: b · a GPU: d · cuda:1: a · memory: 2.0 of 8.0 GiB in use"


def test_waiting_runs_are_shown_moved_started_and_cancelled(open_page: OpenPage, three_runs: list[Run]) -> None:
    first, second, third = three_runs
    assert states(three_runs) == ["starting", "queued", "queued"]
    app = open_page("runs")
    shown = text_of(app)
    assert f"At work: run {first.id} (dp-merf on digits): starting, 0 %" in shown
    assert re.search(rf"CPU: {first.id} · memory: \d+\.\d of \d+\.\d GiB in use", shown)
    assert f"1. run {second.id} (dp-merf on digits): it waits for a place on the CPU, which has 1 for runs" in shown
    app.button(key=f"runs_queue_{third.id}_next").click().run()
    assert waiting() == [third.id, second.id]
    app.button(key=f"runs_queue_{third.id}_now").click().run()
    assert states(three_runs) == ["starting", "queued", "starting"]
    app.button(key=f"runs_queue_{second.id}_cancel").click().run()
    assert not app.exception
    assert states(three_runs) == ["starting", "cancelled", "starting"]
    assert f"CPU: {first.id}, {third.id} · memory" in text_of(app)
    assert RunStore(here()).get(second.id).epsilon_spent == 0.0


def test_a_waiting_run_is_given_a_priority(open_page: OpenPage, three_runs: list[Run]) -> None:
    _, second, third = three_runs
    app = open_page("runs")
    app.number_input(key=f"runs_queue_{third.id}_priority").set_value(5).run()
    assert waiting() == [second.id, third.id], "until it is set"
    app.button(key=f"runs_queue_{third.id}_set_priority").click().run()
    assert not app.exception
    assert waiting() == [third.id, second.id]


def test_all_that_failed_or_was_lost_is_retried_and_what_is_refused_is_told(
    open_page: OpenPage, three_runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = three_runs
    assert "runs_retry_all" not in [button.key for button in open_page("runs").button]
    store = RunStore(here())
    store.change(first.id, {"starting"}, "failed", state="failed")
    store.change(second.id, {"queued", "starting"}, "lost", state="lost")
    store.change(third.id, {"queued", "starting"}, "cancelled", state="cancelled")
    app = open_page("runs")
    assert "2 runs have failed or got lost." in text_of(app)

    checked: list[Plan] = []

    def refuse_the_first(plan: Plan) -> None:
        checked.append(plan)
        if len(checked) == 1:
            raise WorkbenchError("It no longer holds.")

    with monkeypatch.context() as patch:
        patch.setattr(Plan, "check", refuse_the_first)
        app.button(key="runs_retry_all").click().run()
    assert [error.value for error in app.error] == [f"{first.id}: It no longer holds."]
    assert states([first]) == ["failed"]
    assert states([second]) != ["lost"], "what is refused to one is not refused to the next"
    app.button(key="runs_retry_all").click().run()
    assert not app.exception
    assert not {"failed", "lost"} & set(states(three_runs))
    assert states([third]) == ["cancelled"], "whoever cancelled it did not want it"


def test_a_run_that_lacks_room_says_so_and_is_resumed_or_cancelled(open_page: OpenPage, three_runs: list[Run]) -> None:
    first, second, _ = three_runs
    RunStore(here()).change(first.id, {"starting"}, "paused", state="paused", error="No space left.", bytes_needed=2**60)
    app = open_page("runs", runs_chosen=first.id)
    assert f"Paused: run {first.id} (dp-merf on digits): No space left." in text_of(app)
    assert app.button(key=f"runs_{first.id}_cancel")
    app.button(key=f"runs_{first.id}_resume").click().run()
    assert not app.exception
    assert states([first, second]) == ["queued", "starting"], "in its turn: the next had begun meanwhile"


def test_the_queue_is_paused_widened_and_emptied(open_page: OpenPage, three_runs: list[Run]) -> None:
    app = open_page("runs")
    app.button(key="runs_queue_pause").click().run()
    assert line(here()).settings.paused
    app.number_input(key="runs_queue_cpu_runs").set_value(2).run()
    app.button(key="runs_queue_set").click().run()
    assert states(three_runs) == ["starting", "queued", "queued"], "paused"
    app.button(key="runs_queue_go_on").click().run()
    assert states(three_runs) == ["starting", "starting", "queued"]
    app.button(key="runs_queue_cancel_all").click().run()
    assert not app.exception
    assert states(three_runs) == ["cancelling", "cancelling", "cancelled"]


def test_a_waiting_run_says_so_where_it_is_watched(open_page: OpenPage, three_runs: list[Run]) -> None:
    app = open_page("train", train_run=three_runs[2].id)
    assert any("Waiting: at place 2 of the queue, as it waits for a place on the CPU" in bar.proto.text for bar in app.get("progress"))
