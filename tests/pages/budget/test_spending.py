"""What a plan spends by stage, what a launch takes, what any epsilon and delta mean, and which methods are in colour."""

import math
from collections.abc import Callable

import pandas as pd
import plotly.graph_objects as go
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from pages.budget.test_frontier import row
from pages.reading import text_of
from streamlit.testing.v1 import AppTest
from support.homes import here

from workbench import datasets
from workbench.methods import METHODS
from workbench.pages.budget.deltas import conventions, delta_frame
from workbench.pages.budget.families import FAMILIES
from workbench.pages.budget.frontier import draw_measured, frontier, measured_points
from workbench.pages.budget.spending import stage_frame
from workbench.planning import make_plan
from workbench.privacy import proved_bound
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.spending.ledger import Ledger
from workbench.serialization import dumps
from workbench.ui.bound_words import right_guesses, sentences
from workbench.ui.formats import number
from workbench.ui.looks import look_of
from workbench.ui.spent import reserved_epsilon
from workbench.ui.theme import GREY

OpenPage = Callable[..., AppTest]
PLAN = make_plan("class-moments", datasets.facts("digits"), epsilon=2.0, settings={"max_norm": 4.0})


def test_the_parts_of_a_stack_sum_to_the_plan_s_epsilon() -> None:
    frame = stage_frame.__wrapped__(dumps(PLAN))
    assert frame["stage"].tolist() == ["class sums", "class counts", "second moment"]
    assert frame["adds"].sum() == pytest.approx(PLAN.bound.epsilon, rel=1e-6)
    assert frame["alone"].tolist() == pytest.approx([proved_bound([stage], PLAN.delta).epsilon for stage in PLAN.stages])
    assert frame["alone"].sum() > PLAN.bound.epsilon, "epsilons do not add up"
    unbounded = make_plan("dp-promise", datasets.facts("digits"), epsilon=5.0, settings={"targets": "paper"}, target="claim")
    assert stage_frame.__wrapped__(dumps(unbounded)).empty


def test_a_smaller_delta_costs_a_larger_epsilon() -> None:
    frame = delta_frame.__wrapped__(dumps(PLAN))
    assert list(conventions(100).values()) == [0.01, pytest.approx(1 / (100 * math.log(100))), 1e-5, pytest.approx(1e-4)]
    epsilons = [float(text) for text in frame["Proved epsilon"]]
    assert epsilons[0] == pytest.approx(2.0, rel=0.01)
    assert epsilons[1] < epsilons[2] < epsilons[3] < epsilons[4]
    assert float(frame["Times n"][1]) == 1


def test_the_dial_tells_what_an_epsilon_allows() -> None:
    assert right_guesses(0.0, 0.0) == 0.5
    assert right_guesses(math.log(3), 0.0) == pytest.approx(0.75)
    assert right_guesses(0.0, 0.1) == pytest.approx(0.55)
    lines = sentences(math.log(3), 0.0)
    assert "3 times" in lines[0]
    assert "75.0 %" in lines[1]
    assert "at most **750** right" in lines[2]
    assert "at most **999** right" in sentences(10.0, 0.0)[2], "never as certainty"
    assert "3.0 %" in lines[3]


def test_the_frontier_is_of_those_that_none_other_beats_at_no_larger_bound() -> None:
    rows = pd.DataFrame([row("dpdm", 1.0, 0.5, 0), row("dp-merf", 1.0, 0.4, 0), row("dp-merf", 5.0, 0.45, 0), row("dp-sad", 5.0, 0.7, 0)])
    points = measured_points(rows)
    assert frontier(points, "higher") == ["dpdm", "dp-sad"]
    assert frontier(points, "lower") == ["dp-merf"]


def test_what_is_not_picked_is_grey_and_a_method_has_one_colour() -> None:
    points = measured_points(pd.DataFrame([row("dpdm", 1.0, 0.5, 0), row("dp-merf", 1.0, 0.4, 0)]))
    figure, whole = go.Figure(), go.Figure()
    draw_measured(figure, points, ["dp-merf"])
    draw_measured(whole, points)
    lines, all_lines = ({line.name: line for line in one.data} for one in (figure, whole))
    assert lines["dpdm (measured)"].line.color == GREY
    assert lines["dpdm (measured)"].showlegend is False
    assert lines["dp-merf (measured)"].line.color == all_lines["dp-merf (measured)"].line.color == look_of("dp-merf")[0]
    assert look_of("dp-merf")[0] != GREY


def test_a_family_names_methods_that_there_are_and_each_once() -> None:
    named = [method for methods in FAMILIES.values() for method in methods]
    assert set(named) <= METHODS.keys()
    assert len(named) == len(set(named))
    assert METHODS.keys() == set(named), "add a new method to a family in workbench/pages/budget/families.py"


def test_the_page_tells_what_a_launch_takes_and_its_dial_is_in_the_address(open_page: OpenPage) -> None:
    app = open_page("budget", budget_method="class-moments", budget_epsilon="2", budget_dial="0.1")
    values = {metric.label: metric.value for metric in app.metric}
    assert 10 < float(values["Spent on these records"]) < float(values["After it"])
    assert values["Left after it"] == "no budget set"
    assert "1.11 times" in text_of(app)
    assert "quotes no number from it" in text_of(app), "the guide's text is not here, so nothing is put into its mouth"


def test_the_dial_follows_the_plan(open_page: OpenPage) -> None:
    app = open_page("budget", budget_method="class-moments", budget_epsilon="10")
    (dial,) = [slider for slider in app.select_slider if slider.label == "Epsilon"]
    assert dial.value == 10.0
    (target,) = [box for box in app.number_input if box.label == "Target epsilon"]
    target.set_value(0.1).run()
    (dial,) = [slider for slider in app.select_slider if slider.label == "Epsilon"]
    assert dial.value == 0.1
    dial.set_value(1.0).run()
    (dial,) = [slider for slider in app.select_slider if slider.label == "Epsilon"]
    assert dial.value == 1.0, "turned, it stays while the plan does"


@pytest.mark.parametrize("ended_early", [True, False])
def test_it_says_where_a_run_that_ended_early_leaves_room(ended_early: bool) -> None:
    ledger = Ledger(here().ledger)
    training = Stage("train", PoissonSampledDpEvent(0.05, GaussianDpEvent(1.0)), "per_step", 200)
    ledger.open_run("early", "data", "digits", "dpdm", [training], PLAN.delta)
    ledger.charge("early", "train", 1)
    ledger.close_run("early", ended_early)
    if not ended_early:  # it took all steps
        ledger.charge("early", "train", 200)
    ledger.set_budget("digits", 3.0, PLAN.delta)

    def draw() -> None:
        from workbench import datasets
        from workbench.pages.budget.spending import launch_section
        from workbench.planning import make_plan

        launch_section(make_plan("class-moments", datasets.facts("digits"), epsilon=2.0, settings={"max_norm": 4.0}))

    app = AppTest.from_function(draw, default_timeout=60).run()
    assert not app.exception
    assert float({metric.label: metric.value for metric in app.metric}["After it"]) > 3.0
    assert [f"twice its delta, {number(2 * PLAN.delta)}" in info.value for info in app.info] == [True] * ended_early
    assert (ledger.warning_before("digits", PLAN.stages, PLAN.delta) is None) is ended_early


def test_what_is_spent_is_that_of_the_ledger_as_it_is_now_and_open_runs_count_whole() -> None:
    ledger, training = Ledger(here().ledger), Stage("train", PoissonSampledDpEvent(0.05, GaussianDpEvent(1.0)), "per_step", 200)

    def spent() -> float:
        return reserved_epsilon(ledger.entries("digits"), PLAN.delta)

    assert spent() == 0.0
    ledger.open_run("first", "data", "digits", "dpdm", [training], PLAN.delta)
    ledger.charge("first", "train", 1)
    whole = spent()
    assert whole == pytest.approx(proved_bound([training], PLAN.delta).epsilon, rel=0.01), "as it may still take every step"
    ledger.close_run("first")
    one = spent()
    assert 0 < one < whole, "it took one"
    ledger.open_run("second", "data", "digits", "dpdm", [training], PLAN.delta)
    assert spent() > whole
    assert reserved_epsilon(ledger.entries("digits"), PLAN.delta / 10) > spent()
