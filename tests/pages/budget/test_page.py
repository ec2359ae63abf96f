"""The Budget page: three numbers, what they cost, buy and mean, and the choices that its address carries."""

import itertools
from collections.abc import Callable

import pytest
from pages.reading import groups, text_of
from streamlit.testing.v1 import AppTest
from support.homes import here
from support.launchers import Here, Nowhere

from workbench.jobs.job import Job
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.runs.store import RunStore

OpenPage = Callable[..., AppTest]


def test_budget_shows_three_numbers_configuration_time_and_memory(open_page: OpenPage) -> None:
    app = open_page("budget", budget_method="dp-merf", budget_epsilon="2.0")
    cards = [metric.value for metric in app.metric if metric.label == "Epsilon"]
    assert len(cards) == 3
    assert 1.99 < float(cards[1]) <= 2.0
    values = {metric.label: metric.value for metric in app.metric}
    assert values["Expected time"] == "about 26 min 43 s"
    assert values["Expected memory"] == "about 1.0 GiB"
    assert float(values["Noise multiplier"]) > 0
    assert "proved upper bound" in text_of(app)
    assert "At delta 4.44×10⁻⁷ (1/n² of n = 1,500 records) the same releases have the upper bound epsilon **2.713**" in text_of(app)


def test_an_empty_chart_says_what_would_fill_it_and_offers_it(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page("budget", budget_method="dp-merf", budget_dataset="permuted-digits")
    app.selectbox(key="budget_measure").set_value("coverage").run()
    assert [info.value for info in app.info] == [
        "No point yet: nothing has been trained on permuted-digits here. A run of the plan above, once evaluated, is the first. "
        "Its dry run, above, costs no privacy."
    ]
    assert app.button(key="budget_fill").label == "Train the plan above"
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    app = open_page("budget", budget_method="dp-merf")
    app.selectbox(key="budget_measure").set_value("coverage").run()
    app.button(key="budget_fill").click().run()
    newest = RunStore(here()).list()[0]
    assert [(job.task, job.owner) for job in Jobs(here()).all() if job.task == "evaluate"] == [("evaluate", newest.id)]


def test_families_have_charts_once_they_are_opened(open_page: OpenPage) -> None:
    charts = [
        {element.proto.alt for element in open_page("budget", budget_method="dp-merf", **opened).get("plotly_chart")}
        for opened in ({}, {"budget_families": "true"})
    ]
    more = charts[1] - charts[0]
    assert len(more) > 1
    assert all("measured points: " in alt for alt in more)


def test_numbers_of_a_chart_are_drawn_once_they_are_opened(open_page: OpenPage) -> None:
    tables = [
        [element.proto.alt for element in open_page("budget", *keys, budget_method="dp-merf").dataframe]
        for keys in ((), ("budget_accountant_chart_numbers",))
    ]
    assert not any(alt.startswith("Numbers of the chart") for alt in tables[0])
    (more,) = set(tables[1]) - set(tables[0])
    assert more.startswith("Numbers of the chart: Epsilon at delta")
    assert len(tables[1]) == len(tables[0]) + 1


def test_another_epsilon_begins_no_other_measurement(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.ui.expected.known_pace", lambda *_: None)
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())

    def begun() -> list[Job]:
        return [job for job in Jobs(here()).all() if job.task == "rehearse"]

    assert "is being measured" in text_of(open_page("budget", budget_method="dp-merf", budget_epsilon="2.0"))
    assert begun() == [], "the page settles first"
    monkeypatch.setattr("workbench.ui.jobs.count", lambda: itertools.count(1))  # as when it looks again
    app = open_page("budget", budget_method="dp-merf", budget_epsilon="2.0")
    assert "is being measured" in text_of(app)
    app.number_input(key="budget_epsilon").set_value(3.0).run()
    assert "more than" not in text_of(app)
    (job,) = begun()
    Jobs(here()).change(job.id, {"starting"}, "failed", state="failed", error="Expected a device.")
    app = open_page("budget", budget_method="dp-merf", budget_epsilon="2.0")
    assert f"The measurement of the pace ({job.id}) has failed. Expected a device." in text_of(app)
    app.button(key="budget_pace_dismiss").click().run()
    assert not app.exception
    assert [again.id == job.id for again in begun()] == [False], "it is begun anew"


def test_budget_says_where_no_paper_has_a_row_and_where_epsilon_zero_is_not_defined(open_page: OpenPage) -> None:
    text = text_of(open_page("budget", budget_method="dp-merf"))
    assert "No published row: none of the papers reports a result on digits." in text
    assert "Points show the mean and range of our reference runs" in text
    app = open_page("budget", budget_method="dp-merf", budget_dataset="fashion-mnist")
    fashion = text_of(app.selectbox(key="budget_measure").set_value("accuracy_mlp").run())
    assert "Epsilon 0: not defined, unless public images of one's own have the classes of fashion-mnist." in fashion
    assert "Real training data: not measured yet." in fashion


def test_budget_has_published_points_where_papers_have_them(open_page: OpenPage) -> None:
    app = open_page("budget", budget_method="dp-merf", budget_dataset="mnist")
    assert app.selectbox(key="budget_measure").value == "accuracy_cnn"
    assert "Published points stand at the epsilon their source prints" in text_of(app)


def test_budget_shows_an_infinite_bound_with_its_reason(open_page: OpenPage) -> None:
    app = open_page("budget", budget_dataset="mnist", budget_preset="published", budget_target="Paper's claim")
    assert [metric.value for metric in app.metric if metric.label == "Epsilon"][1] == "∞"
    text = text_of(app)
    assert "refuted" in text
    assert "Claim only" in text
    assert "An infinite epsilon limits no attack" in text


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"budget_delta": "1.0"}, "Expected delta in (0, 1), got 1.0."),
        ({"budget_epsilon": "0.0"}, "Expected a finite epsilon above 0, got 0.0."),
        ({"budget_preset": "published"}, "No noise multiplier bounds this run."),
        ({"budget_dataset": "/nowhere/at/all"}, "/nowhere/at/all"),
    ],
)
def test_wrong_input_is_one_clear_sentence(open_page: OpenPage, parameters: dict[str, str], sentence: str) -> None:
    app = open_page("budget", **parameters)
    assert len(app.error) == 1
    assert sentence in app.error[0].value


def test_budget_carries_every_choice_to_the_train_page(open_page: OpenPage) -> None:
    app = open_page("budget", budget_method="dp-merf", budget_epsilon="3.0", budget_delta="1e-4")
    app.button(key="budget_carry").click().run()
    assert not app.exception
    assert app.title[0].value == "Train"
    assert app.selectbox(key="train_method").value == "dp-merf"
    assert (app.number_input(key="train_epsilon").value, app.number_input(key="train_delta").value) == (3.0, 1e-4)


def test_the_axis_of_own_runs_is_a_choice_the_address_keeps(open_page: OpenPage) -> None:
    app = open_page("budget", budget_method="dp-merf", budget_axis="Paper's claim", budget_against="Noise multiplier")
    axis = next(group for group in groups(app) if group.key == "budget_axis")
    assert axis.value == "claim"


def test_a_claim_that_is_proved_for_another_relation_does_not_bear_the_bounds_words(open_page: OpenPage) -> None:
    app = open_page("budget", budget_dataset="breast-cancer", budget_method="mst", budget_epsilon="1.0")
    claim, bound, _ = [metric.value for metric in app.metric if metric.label == "Epsilon"]
    assert float(claim) > float(bound)
    text = text_of(app)
    assert text.count("proved upper bound") == 1
    assert text.count("proved for its relation") == 1


def test_a_dry_run_is_begun_here_and_what_it_came_to_is_shown(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    app = open_page("budget", budget_method="class-moments", budget_epsilon="10")
    app.button(key="budget_dry_run").click().run()
    (rows,) = [frame.value for frame in app.dataframe if "Drawn records themselves" in frame.value]
    assert rows["Measure"].tolist() == ["Accuracy, logistic regression"]
    assert 0.5 < float(rows["Value"][0]) <= float(rows["Drawn records themselves"][0]) + 0.05
    assert "compare plans by dry runs" in text_of(app)
    app.number_input(key="budget_epsilon").set_value(9.0).run()
    assert app.button(key="budget_dry_run"), "another plan has a dry run of its own"
