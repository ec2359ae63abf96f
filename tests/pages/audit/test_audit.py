"""The Audit page: each attack begins as a job with its cost, its result stays, and every section of every run can be drawn."""

import json
from collections.abc import Callable

import pytest
from pages.conftest import app_at, train_in_process
from pages.reading import text_of
from streamlit.testing.v1 import AppTest
from support.homes import here
from support.quick import QUICK

from workbench.datasets import load
from workbench.pages.audit.page import SECTIONS
from workbench.runs.copies import kept_copies
from workbench.runs.games import kept_games
from workbench.runs.refuted import kept_caught
from workbench.runs.store import RunStore
from workbench.runs.vote_gaps import PRIVATE, kept_votes
from workbench.ui.formats import duration, number

OpenPage = Callable[..., AppTest]


@pytest.mark.usefixtures("workbench_home")
def test_without_a_finished_run_the_page_says_what_to_do() -> None:
    assert "No run has finished yet" in text_of(app_at("audit").run())


def test_every_section_is_drawn_and_says_what_it_costs_or_why_not(open_page: OpenPage) -> None:
    for name in SECTIONS:
        app = open_page("audit", audit_what=name)
        assert not app.exception, name
        words = ("Cost", "no canaries", "no prediction", "no votes", "no values per record", "2,000 trials")
        assert any(word in text_of(app) for word in words), name


def test_a_run_without_canaries_leads_to_its_plan_with_some(open_page: OpenPage) -> None:
    app = open_page("audit")
    run = RunStore(here()).list()[0]
    app.button(key=f"audit_{run.id}_canaries").click().run()
    assert not app.exception
    assert app.number_input(key="train_audit_canaries").value == 200
    assert app.selectbox(key="train_method").value == run.method
    assert len(RunStore(here()).list()) == 2, "nothing begins before the Train page has shown what it costs"


def test_a_claim_is_attacked_by_a_job_and_its_result_stays(open_page: OpenPage) -> None:
    app = open_page("audit", audit_what="Papers' claims", audit_claim="dpgen", audit_trials="60")
    app.button[[button.label for button in app.button].index("Attack the claim")].click().run()
    assert not app.exception
    [attack] = kept_caught(here(), "dpgen")
    assert (attack.trials, attack.is_caught) == (60, True)
    app.run()
    assert "Attack the claim" not in [button.label for button in app.button]
    assert attack.words in text_of(app).replace("\\", "")


def test_copies_are_looked_for_and_the_collapse_test_is_shown(open_page: OpenPage) -> None:
    app = open_page("audit", audit_what="Copies")
    run = RunStore(here()).list()[0]
    app.button[[button.label for button in app.button].index("Look for copies")].click().run()
    app.run()
    assert not app.exception
    assert kept_copies(here(), run.id, "pixels", 40) is not None
    assert "The collapse test" in text_of(app)


@pytest.mark.usefixtures("workbench_home")
def test_a_game_is_played_by_a_job_and_its_result_stays() -> None:
    run = train_in_process("nonprivate", load("digits"), None, **QUICK["nonprivate"])
    app = app_at("audit")
    app.query_params["audit_what"], app.query_params["audit_games"] = "Game", "20"
    app.run()
    app.button[[button.label for button in app.button].index("Play")].click().run()
    app.run()
    assert not app.exception
    [game] = kept_games(here(), run.id)
    assert (game.games, game.score) == (20, "loss")
    assert app.dataframe[0].value["Games"].tolist() == [20]


@pytest.mark.usefixtures("workbench_home")
def test_what_trains_a_plan_again_says_how_long_it_takes() -> None:
    run = train_in_process("nonprivate", load("digits"), None, **QUICK["nonprivate"])
    once = run.seconds_running
    assert once is not None
    for section, words in {"Membership": "Costs 16 trainings of this run's plan.", "PAC": "No training is charged to the ledger."}.items():
        app = app_at("audit")
        app.query_params["audit_what"], app.query_params["audit_score"] = section, "lira"
        assert f"{words} This run took {duration(once)}: expect about {duration(16 * once)}." in text_of(app.run()), section


@pytest.mark.usefixtures("workbench_home")
def test_true_votes_are_looked_at_by_a_job_and_said_to_be_private_beside_the_bound() -> None:
    run = train_in_process("pate-gan", load("digits"), None, **{**QUICK["pate-gan"], "noise_multiplier": 3.0})
    app = app_at("audit")
    app.query_params["audit_what"] = "Votes"
    app.run()
    assert "Cost" in text_of(app)
    app.button[[button.label for button in app.button].index("Look at the votes")].click().run()
    app.run()
    assert not app.exception
    votes = kept_votes(here(), run.id)
    assert votes is not None
    said = text_of(app)
    assert PRIVATE in said
    assert "24 votes" in said
    numbers = {"upper bound": run.bound.epsilon, "same formulas, at worst": votes.worst_case, "by true votes (private)": votes.epsilon}
    [chart] = app.get("plotly_chart")
    traces = json.loads(chart.proto.spec)["data"]
    assert {trace["name"]: trace["text"][0].strip() for trace in traces} == {name: number(value, 4) for name, value in numbers.items()}
