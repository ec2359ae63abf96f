"""Utility against epsilon: the user's runs, the papers' printed points, what recipes reached, and the lines they all lie between."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from workbench import datasets
from workbench.datasets import DATASETS, DatasetFacts
from workbench.escaping import prose
from workbench.evaluation import METRICS, Metric
from workbench.evaluation.feature_files import is_fid
from workbench.evaluation.likeness import likeness_note
from workbench.evaluation.results import EVENLY
from workbench.marks import mark, may_leave
from workbench.measured import load_measured
from workbench.pages.budget.empty import offer_to_fill
from workbench.pages.budget.families import FAMILIES, OTHERS
from workbench.pages.budget.frontier import draw_measured, frontier, measured_note, measured_points, measured_references, measured_rows
from workbench.pages.budget.points import OWN_COLUMNS, on_axis, own_points, reference_values
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.published import load_published
from workbench.request import Request
from workbench.runs.run import Run
from workbench.ui import charts
from workbench.ui.charts import ReferenceLine
from workbench.ui.formats import counted, number
from workbench.ui.runs import results_of
from workbench.ui.words import explained

PUBLISHED_TITLES = {
    "accuracy_unspecified": "Accuracy, classifier not named (published)",
    "fid": "FID, Inception features (published)",
}
PUBLISHED_FRACTIONS = ("accuracy_unspecified",)
AXES = {name: accountant.label for name, accountant in ACCOUNTANTS.items()} | {"claim": "Paper's claim", "audit": "Audit (lower bound)"}
FEW = 4  # methods that one chart tells apart in colour
LEAST_WIDTH = 420
NAMED = 5  # runs that a note names; the others it counts
BARS = {
    "own": "of your runs, the 95 % interval of that one run, over held-out records or draws",
    "measured": "of our reference runs, the smallest and the largest over seeds",
    "printed": "of published points, the standard deviation that their source prints",
}
NO_OWN = pd.DataFrame(columns=list(OWN_COLUMNS))
PREFERRED, PREFERRED_WHERE_PUBLISHED = "accuracy_logistic_regression", "accuracy_cnn"


def utility_section(facts: DatasetFacts, dataset: str, runs: Sequence[Run], prefix: str, request: Request | None = None) -> None:
    """The chart with its two choices (measure; which epsilon the own runs stand at), its table, and what is not on it.

    Where no point is on it, it offers to fill it, by `request` if there is no finished run.
    """
    mine = [run for run in runs if run.dataset == dataset and run.state == "done"]
    names = measure_names(facts, dataset)
    left, right = st.columns([2, 3])
    preferred = PREFERRED if load_published(dataset).empty else PREFERRED_WHERE_PUBLISHED
    default = names.index(preferred) if preferred in names else 0
    measure = left.selectbox("Measure", names, default, key=f"{prefix}measure", bind="query-params", format_func=measure_title)
    with right:
        axis = st.segmented_control(
            "Your runs stand at the epsilon of", list(AXES), default="pld", required=True, key=f"{prefix}axis", bind="query-params",
            format_func=AXES.__getitem__,
        )  # fmt: skip
    own, missing = own_points(mine, measure, axis or "pld")
    printed, rows = load_published(dataset, measure), load_measured(dataset, measure)
    measured = measured_points(pd.concat([load_measured(dataset, name) for name in on_axis(measure)]))
    lines, notes = reference_lines(facts, measure, measured_references(rows) | reference_values(mine, measure))
    title = measure_title(measure, own["features"].unique().tolist())
    picked = pick(measured, printed, "higher" if measure not in METRICS else METRICS[measure].better, prefix)
    figure = drawn(own, printed, measured, lines, title, is_fraction(measure), picked)
    alt = f"{title} against epsilon on {facts.name}: {len(own)} own runs, {len(measured)} measured and {len(printed)} published points"
    if own.empty and printed.empty and measured.empty:
        offer_to_fill(facts.name, mine, request, prefix)
    charts.show(figure, alt, utility_table(own, printed, measured), f"{prefix}utility_chart")
    by_family(measured, lines, title, is_fraction(measure), prefix)
    about = [*bars_note(own, measured, printed), *measured_note(measured)]
    for note in [*about, *notes, *absences(facts, dataset, measure, mine, printed, missing)]:
        st.caption(prose(note))


@st.cache_resource(max_entries=30, show_spinner=False)
def drawn(
    own: pd.DataFrame,
    printed: pd.DataFrame,
    measured: pd.DataFrame,
    lines: Sequence[ReferenceLine],
    title: str,
    fraction: bool,
    picked: Collection[str] | None,
) -> go.Figure:
    """The chart of all points, kept: its hundred points take longer than the rest of the page. Whoever gets it must not change it."""
    figure = charts.utility_chart(own, printed, lines, title, fraction, picked)
    draw_measured(figure, measured, picked)
    return figure


def bars_note(own: pd.DataFrame, measured: pd.DataFrame, printed: pd.DataFrame) -> list[str]:
    """What an error bar means of each kind of points that is there and has some: no two kinds mean the same."""
    have_bars = {
        "own": bool((own["high"] > own["low"]).any()),
        "measured": bool((measured["high"] > measured["low"]).any()),
        "printed": bool((printed["std"] > 0).any()),
    }
    meanings = [BARS[kind] for kind, is_there in have_bars.items() if is_there]
    return [f"Error bars: {'; '.join(meanings)}."] if meanings else []


def pick(measured: pd.DataFrame, printed: pd.DataFrame, better: str, prefix: str) -> list[str] | None:
    """The methods that the reader wants in colour, beforehand those of the frontiers; None where there are few anyway.

    What the workbench measured and what papers printed have a frontier each, as their protocols differ.
    """
    theirs = printed.assign(method=printed["method_id"])
    names = list(dict.fromkeys([*measured["method"], *theirs["method"]]))
    if len(names) <= FEW:
        return None
    default = [name for rows in (measured, theirs) for name in frontier(rows, better)]
    return st.multiselect(
        "In colour", names, list(dict.fromkeys(default)), key=f"{prefix}picked", bind="query-params",
        help=explained("frontier", "By default the methods on the frontiers, of what was measured here and of what papers printed, have "
        "colours. The others are grey; hover to read them."),
    )  # fmt: skip


def by_family(measured: pd.DataFrame, lines: Sequence[ReferenceLine], title: str, fraction: bool, prefix: str) -> None:
    """The measured lines once more, a small chart for each family of methods; only where one chart holds many."""
    families = {name: measured.loc[measured["method"].isin(methods)] for name, methods in FAMILIES.items()}
    families[OTHERS] = measured.loc[~measured["method"].isin(sum(FAMILIES.values(), ()))]
    shown = {name: rows for name, rows in families.items() if len(rows)}
    if len(set(measured["method"])) <= FEW or len(shown) < 2:
        return
    none = load_published("none")
    with st.expander("By family of methods", key=f"{prefix}families", bind="query-params") as opened:
        if not opened.open:  # six charts take as long as the rest of the page
            return
        with st.grid(columns="auto", min_column_width=LEAST_WIDTH):
            for place, (name, rows) in enumerate(shown.items()):
                with st.container():
                    st.markdown(f"**{name}**")
                    figure = charts.utility_chart(NO_OWN, none, lines, title, fraction)
                    draw_measured(figure, rows)
                    figure.update_layout(height=420)
                    alt = f"{title} against epsilon of {len(rows)} measured points: {name}"
                    charts.show(figure, alt, utility_table(NO_OWN, none, rows), f"{prefix}family_{place}")


def measure_names(facts: DatasetFacts, dataset: str) -> list[str]:
    """Measures that suit the dataset's kind, and those that only papers have printed for it."""
    own = [name for name, metric in METRICS.items() if facts.kind.name in metric.kinds and not metric.beside]
    return [*own, *[name for name in sorted(set(load_published(dataset)["metric"])) if name not in own]]


def measure_title(name: str, features: Sequence[str] = ()) -> str:
    """A measure's title for an axis, with its features and unit where it has them; only that of the standard network is FID."""
    if name in PUBLISHED_TITLES:
        return PUBLISHED_TITLES[name]
    metric = METRICS[name]
    if name == "frechet_distance" and features and all(map(is_fid, features)):
        return f"FID ({', '.join(features)})"
    described = "; ".join(part for part in (", ".join(features) if metric.in_features else "", metric.unit) if part)
    return metric.title + (f" ({described})" if described else "")


def is_fraction(name: str) -> bool:
    """Whether a measure lies between 0 and 1."""
    return METRICS[name].is_fraction if name in METRICS else name in PUBLISHED_FRACTIONS


def reference_lines(facts: DatasetFacts, measure: str, values: Mapping[str, Any]) -> tuple[list[ReferenceLine], list[str]]:
    """Horizontal lines for real training data, epsilon 0 and chance, and a note for each that has not been measured or is not defined.

    `values` are the `reference_values` of the runs so far; measures that only papers have printed have no lines.
    """
    metric = METRICS.get(measure)
    if metric is None:
        return [], []
    if metric.is_of_model:
        return [], ["Real training data and epsilon 0: not defined. It is a measure of the model, not of what is drawn from it."]
    lines, notes = [], []
    if values.get("ceiling") is not None:
        lines.append(ReferenceLine(f"real training data ({mark(may_leave(values, 'ceiling'))})", float(values["ceiling"]), "solid"))
    else:
        notes.append(f"Real training data: not measured yet. {taker(measure, f'The first evaluated run on {facts.name}')} takes it.")
    if values.get("epsilon_zero") is not None:
        lines.append(
            ReferenceLine(f"epsilon 0, public data only ({mark(may_leave(values, 'epsilon_zero'))})", float(values["epsilon_zero"]), "dash")
        )
    else:
        notes.append(f"Epsilon 0: {without_epsilon_zero(facts, metric)}")
    chance = metric.chance(facts)
    if chance is not None:
        lines.append(ReferenceLine("chance", chance, "dot"))
    row = {"name": measure, "better": metric.better, "chance": chance} | dict(values)
    if facts.kind.name == "table":
        row["epsilon_zero_reason"] = EVENLY
    return lines, [*notes, *filter(None, [likeness_note([row])])]


def taker(measure: str, usual: str) -> str:
    """What takes a measure: the `usual`, or a command that names it where it is taken by name alone."""
    named = measure in METRICS and METRICS[measure].by_name
    return f"workbench evaluate RUN --metric {measure}" if named else usual


def without_epsilon_zero(facts: DatasetFacts, metric: Metric) -> str:
    """Why there is no value of a model of public data alone, or of rows drawn evenly."""
    if facts.kind.name == "table":
        return f"not measured yet. {taker(metric.name, f'The first evaluated run on {facts.name}')} takes it, of rows drawn evenly."
    companion = DATASETS[facts.name].public_companion if facts.name in DATASETS else None
    if metric.needs == "labels" and (companion is None or datasets.facts(companion).classes != facts.classes):
        return f"not defined, unless public images of one's own have the classes of {facts.name}."
    return "not measured yet. The first evaluated run that pre-trains on public images takes it."


def absences(
    facts: DatasetFacts, dataset: str, measure: str, mine: Sequence[Run], printed: pd.DataFrame, missing: Sequence[str]
) -> list[str]:
    """Sentences on what the chart does not show, and why."""
    notes = []
    if load_published(dataset).empty:
        notes.append(f"No published row: none of the papers reports a result on {facts.name}.")
    elif printed.empty:
        notes.append(f"No published row: none of the papers reports this measure on {facts.name}; other measures have some.")
    else:
        notes.append("Published points stand at the epsilon their source prints, by its own accounting and protocol; hover to read both.")
    unmeasured = [run.id for run in mine if not any(row["name"] == measure for row in results_of(run.id))]
    if unmeasured:
        notes.append(f"Not evaluated on this measure yet: {first_of(unmeasured)}. {taker(measure, 'The Runs page')} evaluates them.")
    more = [f"Not on this axis: {counted(len(missing) - NAMED, 'run')} more."] if len(missing) > NAMED else []
    return [*notes, *[f"Not on this axis: {text}" for text in missing[:NAMED]], *more]


def first_of(names: Sequence[str]) -> str:
    """The first few of some names, and how many more there are."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def utility_table(own: pd.DataFrame, printed: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """The chart's points as rows: own runs, measured points, published ones."""
    mine = [
        {
            "Source": "your run",
            "Method": point["label"],
            "Epsilon": number(point["epsilon"]),
            "Value": number(point["value"]),
            "Protocol": point["protocol"],
        }
        for point in own.to_dict("records")
    ]
    theirs = [
        {
            "Source": charts.place_in(point),
            "Method": f"{point['method']} {point['variant']}".strip(),
            "Epsilon": number(point["epsilon"]),
            "Value": number(point["value"]),
            "Protocol": "; ".join(filter(None, [point["delta"] and f"delta {point['delta']}", point["note"]])),
        }
        for point in printed.to_dict("records")
    ]
    return pd.DataFrame([*mine, *measured_rows(measured), *theirs], columns=["Source", "Method", "Epsilon", "Value", "Protocol"])
