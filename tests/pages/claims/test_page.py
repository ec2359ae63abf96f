"""The Claims page: three numbers for every method, the ledger, and budgets."""

import sqlite3
from collections.abc import Callable
from contextlib import closing

from pages.reading import text_of
from streamlit.testing.v1 import AppTest
from support.homes import here

from workbench.claims import claims_table
from workbench.claims.row import demonstration_of
from workbench.methods import METHODS
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.store import RunStore

OpenPage = Callable[..., AppTest]


def test_claims_lists_every_method_and_what_was_spent(open_page: OpenPage) -> None:
    app = open_page("claims")
    table = app.dataframe[0].value
    assert {"dp-promise", "dp-sad", "dpgen", "p3dm", "ddm", "dp-merf"} <= set(table["Method"])
    assert table.set_index("Method").loc["dp-promise", "Upper bound"] == "∞"
    assert table.set_index("Method").loc["dpgen", "The bound is"] == "none: the claim is refuted"
    assert max(map(len, table["Audit (lower bound)"])) < 40
    total = [metric.value for metric in app.metric if metric.label == "Epsilon"][3]
    assert float(total) > 0


def test_a_row_opens_on_its_reason_its_line_of_code_and_its_test(open_page: OpenPage) -> None:
    app = open_page("claims")
    app.selectbox(key="claims_method").select_index(9).run()
    said = text_of(app)
    assert not app.exception
    for words in ("Formula", "Source", "Demonstration: ", "In the code: workbench/methods/", "held by tests/methods/test"):
        assert words in said.replace("\\", "")


def test_each_row_says_how_to_see_it_on_runs_of_ones_own() -> None:
    rows = {row.method: demonstration_of(row, row.method in METHODS) for row in claims_table()}
    assert "`workbench caught dp-promise`" in rows["dp-promise"]
    assert "workbench train mst " in rows["mst"]
    assert "none is built" in rows["chu-dpdm-printed"]
    assert "none is built" in rows["dpaf"]


def test_a_total_under_another_relation_says_so_beside_the_number(open_page: OpenPage) -> None:
    bound = RunStore(here()).list()[0].bound.model_copy(update={"neighboring_relation": "REPLACE_ONE", "epsilon": 9.98})
    with closing(sqlite3.connect(RunStore(here()).path)) as connection, connection:
        connection.execute("UPDATE runs SET bound = ?", (bound.model_dump_json(),))
    assert "alone is epsilon 9.98 at delta 9.12e-05 under replace one" in text_of(open_page("claims"))


def test_a_budget_is_set_on_the_claims_page(open_page: OpenPage) -> None:
    app = open_page("claims")
    app.button(key="claims_budget_set").click().run()
    assert [error.value for error in app.error] == ["Expected both an epsilon and a delta for the budget."]
    app.number_input(key="claims_budget_epsilon").set_value(4.0)
    app.number_input(key="claims_budget_delta").set_value(1e-4)
    app.button(key="claims_budget_set").click().run()
    budget = Ledger(here().ledger).budget(RunStore(here()).list()[0].fingerprint)
    assert budget is not None
    assert (budget.epsilon, budget.delta) == (4.0, 1e-4)
