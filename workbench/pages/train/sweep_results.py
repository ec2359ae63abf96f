"""Sweeps as they go: one line of progress, the table so far, and a picture of one measure with its spread."""

import statistics

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from workbench.escaping import markdown
from workbench.evaluation import METRICS
from workbench.marks import MARKS_MEAN, mark
from workbench.published import load_published
from workbench.recipes.report import Line, ceilings, mean_of, public_models
from workbench.sweeps import results
from workbench.sweeps.kept import KeptSweep
from workbench.tasks.sweeping import find_job
from workbench.ui import charts, multiples
from workbench.ui.actions import cancel_or_resume, errors_shown
from workbench.ui.formats import counted
from workbench.ui.jobs import show_job
from workbench.workspace import Workspace

POLL_SECONDS = 2.0


def sweeps_section(prefix: str) -> None:
    """The sweeps of the home, one of them shown, by default the newest; nothing where there is none."""
    known = {kept.id: kept for kept in KeptSweep.all(Workspace.default())}
    if not known:
        return
    st.header("Sweeps", anchor=False)
    key = f"{prefix}choice"
    if st.session_state.get(key) not in known:
        st.session_state.pop(key, None)
    chosen = st.selectbox("Sweep", list(known), key=key, bind="query-params", format_func=lambda one: f"{one} · {known[one].recipe.title}")
    _watch(known[chosen or next(iter(known))], prefix)


def _watch(kept: KeptSweep, prefix: str) -> None:
    """Looked at every two seconds while its job is active; its end draws the page anew."""
    job = find_job(kept.workspace, kept.recipe)
    active = job is not None and job.is_active

    @st.fragment(run_every=POLL_SECONDS if active else None)
    def live() -> None:
        with errors_shown():
            now = find_job(kept.workspace, kept.recipe)
            if active and (now is None or not now.is_active):
                st.rerun()
            if now is not None and now.is_active:
                st.progress(now.share, text=f"Sweep {kept.id}: {now.stage or now.state}")
                cancel_or_resume(now, prefix)
            elif now is not None and now.state != "done":
                show_job(now, prefix)
            _show(kept, prefix)

    live()


def _show(kept: KeptSweep, prefix: str) -> None:
    """The table and the picture of what has been measured so far."""
    rows = kept.results()
    st.caption(f"{len(rows)} of {len(kept.recipe.seeded_runs)} runs measured; `workbench sweeps {kept.id} --out FILE.json` writes them.")
    lines = results.series(kept.recipe, rows)
    if lines:
        metric = METRICS[kept.recipe.measure]
        title = f"{metric.title} ({mark(all(line.releasable for line in lines))})"
        own, references = _points(lines), _references(lines)
        several = len({line.method for line in lines}) > 1
        figure = _picture(own, references, title, metric.is_fraction, several)
        charts.show(figure, f"{title} of the sweep's lines over their bounds, mean and deviation", own, f"{prefix}picture")
        if references and several:
            st.caption(markdown(f"In every panel: {multiples.spoken(references)}. In grey: the other methods."))
    if rows:
        table = pd.DataFrame(results.table(rows)).dropna(axis="columns", how="all")
        st.dataframe(table, hide_index=True, alt=f"Mean and spread of every line of sweep {markdown(kept.id)}")
        st.caption(MARKS_MEAN)


def _picture(own: pd.DataFrame, references: list[charts.ReferenceLine], title: str, fraction: bool, several: bool) -> go.Figure:
    """A panel for each method, or one picture of the only one."""
    if several:
        return multiples.panels_by_method(own, references, title, fraction)
    return charts.utility_chart(own, load_published("none"), references, title, fraction)


def _points(lines: list[Line]) -> pd.DataFrame:
    """A row a line: mean over its runs, with one standard deviation to each side where it has several."""
    rows = []
    for line in lines:
        mean, spread = statistics.fmean(line.values), statistics.stdev(line.values) if len(line.values) > 1 else 0.0
        told_of = {"value": mean, "low": mean - spread, "high": mean + spread, "label": f"{line.name} ({counted(len(line.values), 'run')})"}
        rows.append({"method": line.method, "epsilon": line.bound, **told_of})
    return pd.DataFrame(rows)


def _references(lines: list[Line]) -> list[charts.ReferenceLine]:
    """Real records, and public data alone."""
    known = [("real training data (ceiling), private", mean_of(ceilings(lines)), "solid")]
    known += [(f"epsilon 0: {label}, {mark(public)}", mean_of(values), "dash") for label, values, public in public_models(lines)]
    return [charts.ReferenceLine(label, value, dash) for label, value, dash in known if value is not None]
