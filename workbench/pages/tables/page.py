"""The Tables page from top to bottom."""

from pathlib import Path
from typing import Final

import streamlit as st

from workbench.datasets.table_files import CSV, PARQUET, TableFile
from workbench.errors import WorkbenchError
from workbench.escaping import markdown, prose
from workbench.evaluation.side_by_side import MOST_ROWS, apart, associations, shares
from workbench.pages import entry
from workbench.pages.tables.methods import methods_over_epsilons
from workbench.pages.tables.pictures import distances, pairs, small_multiples
from workbench.records import Records
from workbench.runs.samples import DEFAULT, SampleSet
from workbench.runs.samples.imported import imports
from workbench.ui.cards import import_marks, price_of_samples, protects, run_marks
from workbench.ui.gallery import show_records
from workbench.ui.jobs import needed_job
from workbench.ui.runs import known_runs, run_choice, set_choice, show_cautions
from workbench.ui.session import loaded_dataset
from workbench.ui.words import explained
from workbench.workspace import Workspace

PREFIX = "tables_"
SHOWN = 100  # rows
TYPES: Final = {CSV: "text/csv", PARQUET: "application/vnd.apache.parquet"}
REAL = "Real rows beside them"
PRIVATE = "Shares and associations of the real training rows are private and covered by no bound: do not share them."
TOTAL_VARIATION = (
    f"Total variation distance from the real rows, of the first {MOST_ROWS:,} rows of each: 0 for equal shares, 1 for shares that have "
    "nothing in common."
)
NUMBERS = (
    "The files then have a number in the place of each range, drawn within it by the shares of the ranges beside it. The table above "
    "shows ranges either way."
)


def draw() -> None:
    """Which samples, their rows and files, what their columns are like beside those of the real rows, and the table's runs together."""
    finished = [run for run in known_runs() if run.state == "done" and run.plan.facts.kind.name == "table"]
    elsewhere = [one for one in imports(Workspace.default()) if one.facts.kind.name == "table"]
    if not finished and not elsewhere:
        st.info("No run on a table has finished yet. Train one on the Train page, then come back.")
        st.page_link(entry("train"), label="Plan one on the bundled table", query_params={"train_dataset": "breast-cancer"})
        return
    try:
        owner = run_choice(f"{PREFIX}run", runs=finished, imports=elsewhere)
        assert owner is not None
        chosen = set_choice(f"{PREFIX}samples", owner)
        run = next((run for run in finished if run.id == owner), None)
        if run is None:
            import_marks(chosen)
        else:
            run_marks(run)
            st.caption(protects(run.plan.facts))
        samples = chosen.kept_records()
        if samples is None:
            _offer(chosen)
        else:
            show_cautions(chosen.cautions)
            _rows(chosen, samples)
            _comparison(chosen, samples)
        methods_over_epsilons(finished, chosen.facts.name, PREFIX)
    except WorkbenchError as error:
        st.error(prose(error))


def _offer(chosen: SampleSet) -> None:
    """The samples are still to be drawn, at their price."""
    bound = chosen.bound_with(chosen.default_num_samples)
    if bound is not None:
        price_of_samples(bound)
    st.caption("No samples have been drawn yet.")
    needed_job("sample", chosen.owner, {"samples": chosen.id, "num_samples": None}, PREFIX, "Draw samples")


def _rows(chosen: SampleSet, samples: Records) -> None:
    """The first rows, and all of them as files, with what may be done with these."""
    st.header("Rows")
    if chosen.releasable:
        st.badge("may be released", icon=":material/check:", color="green", help=explained("mark"))
    else:
        st.badge("private", icon=":material/lock:", color="red", help=explained("mark"))
    st.caption(markdown(chosen.release_reason))
    show_records(samples, chosen.facts, f"The first rows of {len(samples):,} samples", limit=SHOWN)
    numbers = st.checkbox("Write numbers into the files, not ranges", value=True, key=f"{PREFIX}numbers", help=NUMBERS, bind="query-params")
    file = TableFile(samples, chosen.facts, chosen.notes(), numbers)
    name = chosen.owner if chosen.id == DEFAULT else f"{chosen.owner}-{chosen.id}"
    with st.container(horizontal=True):
        for suffix, type_ in TYPES.items():
            _download(file, Path(f"rows-{name}{suffix}"), type_)


def _download(file: TableFile, path: Path, type_: str) -> None:
    """A button whose file is made when it is pressed."""
    st.download_button(
        f"{len(file.records):,} rows as {'CSV' if path.suffix == CSV else 'Parquet, with types'}",
        lambda: file.content(path.suffix),
        path.name,
        type_,
        key=f"{PREFIX}{path.suffix.removeprefix('.')}",
        icon=":material/download:",
        on_click="ignore",
    )


def _comparison(chosen: SampleSet, samples: Records) -> None:
    """Columns and pairs of columns of the samples, and of the real rows where these are asked for."""
    st.header("Columns")
    real: Records | None = None
    if st.toggle(REAL, value=True, key=f"{PREFIX}real", bind="query-params"):
        st.warning(PRIVATE, icon=":material/lock:")
        real = chosen.same_records(loaded_dataset(chosen.place, chosen.facts)).train
    small_multiples(shares(samples, real, chosen.facts), PREFIX)
    if real is not None:
        _how_far_off(samples, real, chosen)
    st.header("Pairs of columns")
    st.caption("Cramer's V: 0 for columns that have nothing to do with each other, 1 where each gives the other.")
    named = {"samples": associations(samples, chosen.facts)}
    if real is not None:
        named["real rows (private)"] = associations(real, chosen.facts)
    pairs(named, PREFIX)


def _how_far_off(samples: Records, real: Records, chosen: SampleSet) -> None:
    """The worst column by name, and how far each is off alone, in pairs and in triples."""
    st.header("How far columns are off")
    gaps = apart(samples, real, chosen.facts)
    name, value = gaps.worst
    st.caption(markdown(f"{TOTAL_VARIATION} The column that is farthest off alone is {name}, by {value:.3f} (private)."))
    distances(gaps, PREFIX)
