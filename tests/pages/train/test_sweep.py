"""A sweep from the Train page: its cost before anything starts, its launch, its table; asked again it has nothing to spend."""

from collections.abc import Callable

import pytest
from pages.reading import text_of
from streamlit.testing.v1 import AppTest
from support.homes import here
from support.launchers import Line, Nowhere

from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue import passing
from workbench.runs.store import RunStore
from workbench.sweeps.kept import KeptSweep

OpenPage = Callable[..., AppTest]
TABLE = "breast-cancer"


def filled(open_page: OpenPage) -> AppTest:
    """The Train page with a sweep of two epsilons and two runs each in its form."""
    app = open_page("train", train_dataset=TABLE, train_method="independent-marginals")
    app.multiselect(key="train_sweep_methods").set_value(["independent-marginals"])
    app.text_input(key="train_sweep_epsilons").set_value("1, 10")
    app.number_input(key="train_sweep_repeats").set_value(2)
    app.multiselect(key="train_sweep_metrics").set_value(["two_way_marginals"])
    return app.run()


def test_a_sweep_is_launched_once_its_cost_has_been_shown(open_page: OpenPage) -> None:
    app = filled(open_page)
    before = len(RunStore(here()).list())
    assert "train_sweep_launch" not in {button.key for button in app.button}
    app.button(key="train_sweep_cost").click().run()
    assert not app.exception
    metrics = {metric.label: metric.value for metric in app.metric}
    assert metrics["Runs"] == "4"
    assert 10.0 < float(metrics["Epsilon of all runs"]) < 22.0
    assert "Publishing the best one costs their composed total" in text_of(app)
    assert (len(RunStore(here()).list()), KeptSweep.all(here())) == (before, [])
    app.button(key="train_sweep_launch").click().run()
    assert not app.exception
    (kept,) = KeptSweep.all(here())
    assert {run.state for run in RunStore(here()).list()} == {"done"}
    assert len(RunStore(here()).list()) == before + 4
    assert Jobs(here()).get(kept.id).state == "done"
    assert app.selectbox(key="train_sweep_choice").value == kept.id
    assert "4 of 4 runs measured" in text_of(app)
    shown = next(frame.value for frame in app.dataframe if "measure" in frame.value)
    assert list(shown["runs"]) == [2, 2]
    app.button(key="train_sweep_cost").click().run()
    assert app.button(key="train_sweep_launch").label == "Measure what is missing"


def test_runs_and_sweeps_train_where_the_page_is_told(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "slurm", Line())
    monkeypatch.setattr(passing, "ensure_process", lambda _workspace: None)
    before = {run.id for run in RunStore(here()).list()}
    app = filled(open_page)
    assert app.selectbox(key="train_on").options == ["local", "slurm"]
    app.selectbox(key="train_on").set_value("slurm")
    app.number_input(key="train_epsilon").set_value(3.0).run()
    app.button(key="train_launch").click().run()
    assert not app.exception
    assert [run.launcher for run in RunStore(here()).list() if run.id not in before] == ["slurm"]
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())  # the sweep's job is not carried out
    app.button(key="train_sweep_cost").click().run()
    app.button(key="train_sweep_launch").click().run()
    assert not app.exception
    (kept,) = KeptSweep.all(here())
    assert kept.launcher()["on"] == "slurm"


def test_another_form_hides_the_cost_and_what_is_wrong_is_said(open_page: OpenPage) -> None:
    app = filled(open_page)
    app.button(key="train_sweep_cost").click().run()
    app.text_input(key="train_sweep_epsilons").set_value("2").run()
    assert "train_sweep_launch" not in {button.key for button in app.button}
    app.text_input(key="train_sweep_epsilons").set_value("two").run()
    assert "Expected epsilons as numbers between commas" in text_of(app)
    app.text_input(key="train_sweep_epsilons").set_value("1")
    app.text_area(key="train_sweep_settings").set_value("nothing=1").run()
    app.button(key="train_sweep_cost").click().run()
    assert "nothing" in text_of(app)
    assert "train_sweep_launch" not in {button.key for button in app.button}
    assert RunStore(here()).list(method="independent-marginals") == []
