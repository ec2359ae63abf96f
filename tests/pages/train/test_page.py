"""The Train page: launches, watches, and says beforehand what a launch does."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from pages.reading import elements, text_of
from streamlit.testing.v1 import AppTest
from support.homes import here
from support.launchers import Nowhere

from workbench.jobs.launchers import LAUNCHERS
from workbench.methods import METHODS
from workbench.pages.train.watch import BEFORE_THE_FIRST
from workbench.plan import Plan
from workbench.privacy.attacks.canaries import AuditDesign
from workbench.privacy.spending.ledger import Ledger
from workbench.request import Request
from workbench.runs.pace import Line, Pace, Steps
from workbench.runs.store import RunStore
from workbench.ui.links import clone_link, link

OpenPage = Callable[..., AppTest]


def test_train_launches_a_run_and_watches_it(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    parameters = {
        "train_method": "dp-merf",
        "train_epsilon": "1.0",
        "train_set.training.steps": "7",
        "train_device": "cpu",
        "train_speed.num_threads": "1",
    }
    app = open_page("train", **parameters)
    before = {run.id for run in RunStore(here()).list()}
    app.button(key="train_launch").click().run()
    assert not app.exception
    run = next(run for run in RunStore(here()).list() if run.id not in before)
    assert run.config["training"]["steps"] == 7
    assert (run.performance["device"], run.performance["num_threads"], run.seed) == ("cpu", 1, None)
    assert app.selectbox(key="train_run_choice").value == run.id
    assert app.button(key="train_cancel")
    assert app.query_params["train_run"] == run.id


def test_a_second_launch_of_an_equal_plan_is_asked_about(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    app = open_page("train", **{"train_method": "dp-merf", "train_epsilon": "2", "train_set.training.steps": "7", "train_device": "cpu"})
    before = len(RunStore(here()).list())
    app.button(key="train_launch").click().run()
    first = RunStore(here()).list()[0]
    assert [toast.value for toast in app.toast] == [f"Run {first.id} begins in its turn: watch it at the top of this page."]
    assert app.header[0].value == "Watch a run"
    for _ in range(2):
        app.button(key="train_launch").click().run()
        assert len(RunStore(here()).list()) == before + 1
        assert f"Run {first.id} has this very plan on the same records" in text_of(app)
        assert "the account of 'digits' would stand at epsilon" in text_of(app)
    app.run()  # as the page does by itself when a run changes its state
    assert f"Run {first.id} has this very plan on the same records" in text_of(app), "until it is answered"
    RunStore(here()).change(first.id, {"starting"}, "failed", state="failed")
    app.run()
    assert "has this very plan" not in text_of(app), "what has failed and spent nothing is nothing to ask about"


@pytest.mark.usefixtures("home_with_runs")
def test_the_question_starts_another_run_or_shows_the_one_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn by itself: the library that tests pages draws a whole page at a press within a dialog, not the dialog alone."""
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())

    def draw() -> None:
        import streamlit as st

        from workbench.pages.train.start import LaunchRequest, ask
        from workbench.runs.again import Repetition
        from workbench.runs.store import RunStore
        from workbench.workspace import Workspace

        run = RunStore(Workspace.default()).list()[-1]
        if "x_launched" not in st.session_state:
            ask(LaunchRequest(run.plan, {"device": "cpu"}, None, None), Repetition(run, "It spends."), "x_")

    before = RunStore(here()).list()
    app = AppTest.from_function(draw).run(timeout=60)
    app.button(key="x_instead").click().run()
    assert (app.session_state["x_launched"], RunStore(here()).list()) == (before[-1].id, before)
    app = AppTest.from_function(draw).run(timeout=60)
    app.button(key="x_again").click().run()
    assert not app.exception
    assert [app.session_state["x_launched"], *(run.id for run in before)] == [run.id for run in RunStore(here()).list()]


def test_a_run_that_has_taken_no_step_says_what_it_does(home_with_runs: object) -> None:
    def draw(step: int) -> None:
        from workbench.pages.train.watch import show_run
        from workbench.runs.store import RunStore
        from workbench.workspace import Workspace

        show_run(RunStore(Workspace.default()).list()[0].model_copy(update={"state": "running", "step": step}), "x_")

    for step in (0, 1):
        app = AppTest.from_function(draw, args=(step,)).run(timeout=60)
        bars = [element.proto.text for element in elements(app.main) if element.type == "progress"]
        assert [text == BEFORE_THE_FIRST for text in bars] == [step == 0]


def test_what_comes_and_goes_with_a_run_s_state_moves_nothing_below_it(home_with_runs: object) -> None:
    """The page keeps an old element until a rerun has ended: one that has moved would stand there twice meanwhile."""

    def draw(state: str, error: str | None) -> None:
        from workbench.pages.train.watch import show_run
        from workbench.runs.store import RunStore
        from workbench.workspace import Workspace

        show_run(RunStore(Workspace.default()).list()[0].model_copy(update={"state": state, "error": error}), "x_")

    places = []
    for state, error in (("running", None), ("cancelling", None), ("done", None), ("failed", "why")):
        app = AppTest.from_function(draw, args=(state, error)).run(timeout=60)
        assert not app.exception
        assert "Preview" in text_of(app)
        places.append([(place, node.type) for place, node in app.main.children.items()])
    assert len(places[0]) == 7
    assert places == places[:1] * 4


def disturbed(_workspace: object, plan: Plan, _performance: object) -> Pace:
    """A pace that was measured beside other work just now."""
    steps = Steps(points=((1.0, 2.0),), spread=2.0)
    none = Line(fixed=0, per_row=0)
    return Pace(stages={one.name: steps for one in plan.stages}, memory=none, starting=1.0, device="cpu", others=0.7, taken=time.time())


def due(*of_plan: Any) -> Pace:
    """A pace that was measured beside other work long ago: it is shown, and measured again."""
    return disturbed(*of_plan).model_copy(update={"taken": 0.0})


def beside(block: Any, label: str) -> list[tuple[int, str]] | None:
    """Places and types of what stands in the block of the expander with this label."""
    children = getattr(block, "children", {})
    if any(node.type == "expander" and node.label == label for node in children.values()):
        return [(place, node.type) for place, node in children.items()]
    return next((places for child in children.values() if (places := beside(child, label)) is not None), None)


def test_the_expected_time_moves_nothing_below_it(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    places = []
    for pace, words in ((lambda *_: None, "pace with this network is being measured"), (due, "is being measured again"), (disturbed, "")):
        monkeypatch.setattr("workbench.ui.expected.known_pace", pace)
        app = open_page("train", train_method="dp-merf")
        assert (words or "Expected time") in text_of(app) + "".join(metric.label for metric in app.metric)
        places.append(beside(app.main, "Sweep: several methods, epsilons, settings and seeds"))
    assert places[0] is not None
    assert places == places[:1] * 3, "a browser closes what is open in a part that has moved"


def test_the_expected_time_is_an_interval_that_says_how_busy_the_machine_was(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.ui.expected.known_pace", disturbed)
    app = open_page("train", **{"train_method": "dp-merf", "train_set.training.steps": "9"})
    assert {metric.label: metric.value for metric in app.metric}["Expected time"] == "21 s to 41 s"
    assert "Measured while other work had 70% of the processors: a run may be faster." in text_of(app)


def test_a_seed_is_said_to_forbid_release(open_page: OpenPage) -> None:
    assert "repeatable and not releasable" in text_of(open_page("train", train_method="dp-merf", train_seed="3"))


def test_an_audit_is_asked_for_as_on_the_command_line(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    audit = {"train_audit_canaries": "300", "train_audit_kind": "blank", "train_audit_seed": "7"}
    app = open_page("train", train_method="dp-merf", **audit)
    assert "Do not release the audited run" in text_of(app)
    app.button(key="train_launch").click().run()
    assert not app.exception
    run = RunStore(here()).list()[0]
    assert run.audit == AuditDesign(num_canaries=300, kind="blank", seed=7)
    assert not run.releasable
    app.number_input(key="train_epsilon").set_value(3.0)  # an equal plan would be asked about first
    app.number_input(key="train_audit_canaries").set_value(2_000_000).run()
    app.button(key="train_launch").click().run()
    assert "at most 1500 canaries" in text_of(app)


def test_train_takes_no_epsilon_for_a_method_without_a_guarantee(open_page: OpenPage) -> None:
    app = open_page("train", train_method="nonprivate")
    assert app.number_input(key="train_epsilon").disabled
    assert not app.button(key="train_launch").disabled


def test_a_budget_that_a_launch_could_exceed_is_said_beforehand(open_page: OpenPage, home_with_runs: object) -> None:
    Ledger(here().ledger).set_budget(RunStore(here()).list()[0].fingerprint, 0.5, 1e-5)
    assert "its budget" in text_of(open_page("train", train_method="dp-merf"))


@pytest.mark.usefixtures("home_with_runs")
def test_a_clone_leaves_the_default_delta_empty_and_carries_any_other_to_the_bit() -> None:
    run = RunStore(here()).list()[0]
    assert "train_delta" not in clone_link(run, "train_")
    request = run.plan.request.edited(delta=1e-5)
    other = run.model_copy(update={"plan": run.plan.model_copy(update={"request": request})})
    assert clone_link(other, "train_")["train_delta"] == "1e-05"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_its_form(open_page: OpenPage, method: str) -> None:
    """A setting may have the name of one of the request's own fields, as `dataset` of class moments."""
    dataset = "digits" if "image" in METHODS[method].kinds else "breast-cancer"
    app = open_page("train", train_dataset=dataset, train_method=method)
    assert not app.exception
    assert all(error.value.startswith("No setting bounds this run.") for error in app.error)
    assert bool(app.error) == (method in ("dpgen", "p3dm"))
    assert app.selectbox(key="train_method").value == method


def test_a_setting_called_like_a_field_of_the_request_is_kept_apart(open_page: OpenPage) -> None:
    request = Request.of("class-moments", "digits", epsilon=1.0, settings={"dataset": "digits-validation"})
    app = open_page("train", **link(request, "train_"))
    assert not app.exception
    assert app.selectbox(key="train_dataset").value == "digits"
    assert app.text_input(key="train_set.dataset").value == "digits-validation"
