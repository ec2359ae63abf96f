"""Methods over epsilons: the evaluated runs of one table side by side, beside real rows and simple ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from workbench.escaping import markdown
from workbench.evaluation import METRICS
from workbench.marks import MARKS_MEAN, mark, may_leave
from workbench.published import load_published
from workbench.recipes.side_by_side import BOUND, CEILING, EPSILON_ZERO, LARGEST, LINE, MEASURES, entry_of, results_of_runs, side_by_side
from workbench.runs.run import Run
from workbench.ui import charts
from workbench.ui.words import explained_all
from workbench.workspace import Workspace

NONE_YET = "No run on {} has been evaluated yet: Evaluate on the Runs page, or `workbench evaluate RUN`, does."
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "2px,8px")


def methods_over_epsilons(runs: Sequence[Run], name: str, prefix: str) -> None:
    """A picture of one measure of the runs on the table called `name` over their bounds, and all measures as a table."""
    st.header("Methods over epsilons", help=explained_all("epsilon 0", "floor", "ceiling"))
    all_results = results_of_runs(Workspace.default(), [run for run in runs if run.plan.facts.name == name]) if runs else []
    results = [result for result in all_results if any(entry_of(result, measure) for measure in MEASURES)]
    if not results:
        st.caption(NONE_YET.format(markdown(name)))
        return
    there = [measure for measure in MEASURES if any(entry_of(result, measure) for result in results)]
    chosen = st.selectbox("Measure", there, format_func=lambda measure: METRICS[measure].title, key=f"{prefix}measure", bind="query-params")
    own = points(results, chosen)
    title = f"{METRICS[chosen].title} ({mark(bool(own['releasable'].all()))})"
    figure = charts.utility_chart(own, load_published("none"), lines(results, chosen), title, chosen.startswith("accuracy"))
    charts.show(figure, f"{title} of evaluated runs on {name} over their bounds", own, f"{prefix}methods")
    named = {measure: METRICS[measure].title for measure in there} | {LINE: "Line", BOUND: "Bound"}
    rows = [{named[name]: value for name, value in row.items()} for row in side_by_side(results)]
    st.dataframe(rows, hide_index=True, alt=f"Evaluated runs on {name} side by side")
    st.caption(MARKS_MEAN)


def points(results: Sequence[Mapping[str, Any]], measure: str) -> pd.DataFrame:
    """A row a run: method, bound, value with its interval, and whether the value may leave the room."""
    rows = []
    for result in results:
        if (entry := entry_of(result, measure)) is not None:
            low, high = entry.get("interval") or (entry["value"], entry["value"])
            point = {"value": entry["value"], "low": low, "high": high, "label": result["name"]}
            rows.append(
                {"method": result["method"], "epsilon": float(result["bound"]["epsilon"]), **point, "releasable": may_leave(entry, "value")}
            )
    return pd.DataFrame(rows)


def lines(results: Sequence[Mapping[str, Any]], measure: str) -> list[charts.ReferenceLine]:
    """What real rows, rows drawn evenly and the baselines come to, by the newest run that tells it; all of it private."""
    entry = next(entry for result in results if (entry := entry_of(result, measure)) is not None)
    fields = {CEILING: "ceiling", EPSILON_ZERO: "epsilon_zero", LARGEST: "largest_class"}
    values = {name: entry.get(field) for name, field in fields.items()} | (entry.get("baselines") or {})
    known = {name: float(value) for name, value in values.items() if value is not None}
    return [charts.ReferenceLine(f"{name}, private", value, dash) for (name, value), dash in zip(known.items(), DASHES, strict=False)]
