"""The Start page: one screen that leads on, and begins nothing by itself."""

from collections.abc import Callable

import pytest
from pages.conftest import app_at
from pages.reading import elements, text_of
from streamlit.testing.v1 import AppTest
from support.homes import here
from support.launchers import Nowhere

from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.store import RunStore

OpenPage = Callable[..., AppTest]


def links(app: AppTest) -> dict[str, str]:
    """The labels of the page's links, and what each adds to the address."""
    page_links = [element.proto for element in elements(app.main) if element.type == "page_link"]
    return {link.label: f"{link.page}?{link.query_string}" for link in page_links}


@pytest.mark.usefixtures("workbench_home")
def test_it_begins_nothing_and_offers_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    app = app_at("start").run()
    assert not app.exception
    assert {"Process", "Claims", "Budget", "Train", "Runs", "Gallery", "Audit", "Dossier"} <= links(app).keys()
    assert "No run has finished here yet." in text_of(app)
    app.run()
    assert Jobs(here()).all() == [], "nothing is trained while somebody looks"
    app.button(key="start_example").click().run()
    assert [job.task for job in Jobs(here()).all()] == ["example"]
    assert not app.exception


def test_the_tour_is_on_the_example_and_recent_runs_are_links(open_page: OpenPage) -> None:
    runs = RunStore(here()).list()
    example = next(run for run in runs if run.example)
    app = open_page("start")
    addresses = links(app)
    assert addresses["3. The copies"].endswith(f"gallery?gallery_run={example.id}")
    assert f"dossier_run={example.id}" in addresses["5. The signature"]
    assert sum(run.id in label for run in runs for label in addresses) == len(runs)


def test_what_is_left_is_the_budget_less_what_is_spent(open_page: OpenPage) -> None:
    (without,) = [frame.value for frame in open_page("start").dataframe]
    assert without.iloc[0][["Budget", "Left"]].tolist() == ["not set", "–"]
    Ledger(here().ledger).set_budget("digits", 30.0, 1e-5)
    (frame,) = [frame.value for frame in open_page("start").dataframe]
    row = frame.iloc[0]
    spent = float(row["Spent epsilon"])
    assert row["Dataset"] == "digits"
    assert 10 < spent < 30, "two runs, at epsilon 10 and 1"
    assert float(row["Left"]) == pytest.approx(30 - spent, abs=0.06)
    assert row["At delta"] == "1×10⁻⁵" != without.iloc[0]["At delta"], "what is spent stands at the budget's delta"
    assert spent > float(without.iloc[0]["Spent epsilon"])
