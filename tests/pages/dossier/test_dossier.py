"""The Dossier page: what is known and what is not, answers that are kept, files that are made when they are asked for."""

from collections.abc import Callable

import pytest
from pages.conftest import app_at
from pages.reading import text_of
from streamlit.testing.v1 import AppTest
from support.homes import here

from workbench.pages.dossier.files import missing_for_registry, page_of
from workbench.runs.dossier import QUESTIONS, kept_statements
from workbench.runs.store import RunStore

OpenPage = Callable[..., AppTest]


@pytest.mark.usefixtures("workbench_home")
def test_without_a_finished_run_the_page_says_what_to_do() -> None:
    assert "No run has finished yet" in text_of(app_at("dossier").run())


def test_answers_are_kept_and_counted_and_stand_in_the_file(open_page: OpenPage) -> None:
    app = open_page("dossier")
    run = RunStore(here()).list()[0]
    assert len(app.text_area) + len(app.text_input) + len(app.selectbox) >= len(QUESTIONS)
    assert "mu of Gaussian differential privacy" in text_of(app)
    app.text_area(key=f"dossier_{run.id}_purpose").set_value("Lessons only.").run()
    assert not app.exception
    assert kept_statements(here(), run.id).answers == {"purpose": "Lessons only."}
    assert "Lessons only." in page_of(run.id, "outside")
    assert missing_for_registry(run).startswith(f"{registry_questions() - 1} answers are missing")


def registry_questions() -> int:
    return sum(question.registry for question in QUESTIONS.values())


def test_two_browsers_keep_each_other_s_answers_and_see_them(open_page: OpenPage) -> None:
    one, other = open_page("dossier"), open_page("dossier")
    run = RunStore(here()).list()[0]
    other.text_area(key=f"dossier_{run.id}_curators").set_value("The clinic").run()
    one.text_area(key=f"dossier_{run.id}_purpose").set_value("Lessons only.").run()
    assert kept_statements(here(), run.id).answers == {"purpose": "Lessons only.", "curators": "The clinic"}
    assert one.text_area(key=f"dossier_{run.id}_curators").value == "The clinic"


def test_what_is_refused_is_told_and_stays_as_it_was_typed(open_page: OpenPage) -> None:
    app = open_page("dossier")
    run = RunStore(here()).list()[0]
    field = f"dossier_{run.id}_published"
    app.text_input(key=field).set_value("tomorrow").run()
    assert len(app.error) == 1
    assert app.text_input(key=field).value == "tomorrow"
    assert kept_statements(here(), run.id).answers == {}
    app.text_input(key=field).set_value("2026-05-31").run()
    assert (len(app.error), kept_statements(here(), run.id).answers) == (0, {"published": "2026-05-31"})
