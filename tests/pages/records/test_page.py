"""The Records page: nothing where no run tells of records, else values that are private, of the ideal denoiser, beside the measured gap."""

import pytest
from pages.conftest import app_at, train_in_process
from pages.reading import elements, text_of
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from support.homes import here
from support.quick import QUICK
from support.tables import toy_table

from workbench.datasets import DATASETS, DatasetEntry
from workbench.runs.exposure import kept_exposure
from workbench.runs.run import Run
from workbench.ui.formats import number


@pytest.fixture
def run(workbench_home: object, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A finished run of seconds on the small table."""
    entry = DatasetEntry("A small table.", "toy-table", lambda _: toy_table().facts, lambda _: toy_table())
    monkeypatch.setitem(DATASETS, "toy-table", entry)
    return train_in_process("ddm", toy_table(), 10.0, **QUICK["ddm"])


@pytest.mark.usefixtures("workbench_home")
def test_without_such_a_run_the_page_says_what_to_train() -> None:
    assert "Train ddm on a table" in text_of(app_at("records").run())


def test_values_are_asked_for_shown_and_said_to_be_what_they_are(run: Run) -> None:
    app = app_at("records").run()
    assert kept_exposure(here(), run.id) is None, "dear work waits for a person"
    app.button(key="records_begin").click().run()
    assert not app.exception
    app.run()
    found = kept_exposure(here(), run.id)
    assert found is not None
    said = text_of(app)
    for words in ("Do not share them", "of the trained one they are an estimate", "gamma up to", "outside any bound"):
        assert words in said
    exposed = next(table.value for table in app.dataframe if "J (private)" in table.value.columns and "column 1" in table.value.columns)
    (values,) = [
        table.proto.arrow_data.styler
        for table in app.dataframe
        if "J (private)" in table.value.columns and "column 1" in table.value.columns
    ]
    shown = convert_arrow_bytes_to_pandas_df(values.display_values)
    assert shown["J (private)"].tolist() == [number(value) for value in exposed["J (private)"]], "a number as elsewhere, not 0.00e+0"
    assert exposed["record"].tolist() == found.ranking()[:50].tolist()
    assert exposed["J (private)"].tolist() == pytest.approx(found.leakage.total[found.ranking()[:50]])
    before, after = (exposed[f"delta {when} (private)"] for when in ("before", "after"))
    assert (before < after).all()
    assert "Before: what a release would show as generation leaves pure noise" in said
    assert "nothing is estimated" in said, "the table is small"
    assert app.selectbox(key="records_record").value == int(found.ranking()[0])
    beside = next(table.value for table in app.dataframe if "its neighbours" in table.value.columns)
    assert beside["column"].tolist() == ["column 1", "column 2", "column 3", "class"]
    charts = [element for element in elements(app.main) if element.type == "plotly_chart"]
    assert len(charts) == 3
    assert all(chart.proto.alt for chart in charts)
