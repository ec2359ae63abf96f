"""Utility against epsilon: the user's own runs, the papers' printed points, and the lines they lie between."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from workbench.datasets import DatasetFacts
from workbench.evaluation import METRICS
from workbench.published import load_published
from workbench.runs.values import Run
from workbench.ui import charts
from workbench.ui.charts import ReferenceLine
from workbench.ui.formats import number
from workbench.ui.runs import own_points, reference_values, results_of
from workbench.ui.theme import ACCOUNTANT_WORDS

PUBLISHED_TITLES = {
    "accuracy_sklearn_mean": "Accuracy, mean of eleven scikit-learn classifiers (published)",
    "accuracy_unspecified": "Accuracy, classifier not named (published)",
    "fid": "FID, Inception features (published)",
    "pac_noise_norm": "PAC noise norm (published)",
}
PREFERRED, PREFERRED_WHERE_PUBLISHED = "accuracy_logistic_regression", "accuracy_cnn"


def utility_section(facts: DatasetFacts, dataset: str, runs: Sequence[Run], prefix: str) -> None:
    """The chart with its two choices (measure; which epsilon the own runs stand at), its table, and what is not on it."""
    mine = [run for run in runs if run.dataset == dataset and run.state == "done"]
    names = measure_names(facts, dataset)
    left, right = st.columns([2, 3])
    preferred = PREFERRED if load_published(dataset).empty else PREFERRED_WHERE_PUBLISHED
    default = names.index(preferred) if preferred in names else 0
    measure = left.selectbox("Measure", names, default, key=f"{prefix}measure", bind="query-params", format_func=measure_title)
    axes = list(ACCOUNTANT_WORDS)
    with right:
        axis = st.segmented_control(
            "Your runs stand at the epsilon of", axes, default="pld", required=True, key=f"{prefix}axis", bind="query-params",
            format_func=ACCOUNTANT_WORDS.__getitem__,
        )  # fmt: skip
    own, missing = own_points(mine, measure, axis or "pld")
    printed = load_published(dataset, measure)
    lines, notes = reference_lines(reference_values(mine, measure))
    figure = charts.utility_chart(own, printed, lines, measure_title(measure), is_fraction(measure))
    alt = f"{measure_title(measure)} against epsilon on {facts.name}: {len(own)} own runs and {len(printed)} published points"
    charts.show(figure, alt, utility_table(own, printed), f"{prefix}utility_chart")
    for note in [*notes, *absences(facts, dataset, measure, mine, printed, missing)]:
        st.caption(note)


def measure_names(facts: DatasetFacts, dataset: str) -> list[str]:
    """Measures that suit the dataset's kind, and those that only papers have printed for it."""
    own = [name for name, metric in METRICS.items() if facts.kind in metric.kinds]
    return [*own, *[name for name in sorted(set(load_published(dataset)["metric"])) if name not in own]]


def measure_title(name: str) -> str:
    """A measure's name as an axis title; distances and scores keep their unit and never the name FID."""
    if name in PUBLISHED_TITLES:
        return PUBLISHED_TITLES[name]
    if name.startswith("accuracy_"):
        return f"Accuracy, {name.removeprefix('accuracy_').replace('_', ' ').replace('mlp', 'MLP').replace('cnn', 'CNN')}"
    unit = METRICS[name].unit if name in METRICS else ""
    return name.replace("_", " ").capitalize() + (f" ({unit})" if unit else "")


def is_fraction(name: str) -> bool:
    """Whether a measure lies between 0 and 1."""
    return name.startswith("accuracy_") or name in ("privacy_score", "nearer_to_training")


def reference_lines(values: dict[str, object]) -> tuple[list[ReferenceLine], list[str]]:
    """Horizontal lines for real training data, epsilon 0 and chance, and a note where epsilon 0 is not defined."""
    lines, notes = [], []
    if values.get("ceiling") is not None:
        lines.append(ReferenceLine("real training data", float(str(values["ceiling"])), "solid"))
    if values.get("epsilon_zero") is not None:
        lines.append(ReferenceLine("epsilon 0, public data only", float(str(values["epsilon_zero"])), "dash"))
    elif values:
        notes.append(f"Epsilon 0: not defined. {values.get('epsilon_zero_reason') or 'No run here has a model of public data alone.'}")
    if values.get("chance") is not None:
        lines.append(ReferenceLine("chance", float(str(values["chance"])), "dot"))
    return lines, notes


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
        notes.append(f"Not evaluated on this measure yet: {', '.join(unmeasured)}. The Runs page evaluates them.")
    return [*notes, *[f"Not on this axis: {text}" for text in missing]]


def utility_table(own: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """The chart's points as rows, own runs first."""
    mine = [
        {
            "Source": "your run",
            "Method": point["label"],
            "Epsilon": number(point["epsilon"]),
            "Value": number(point["value"]),
            "Protocol": "",
        }
        for point in own.to_dict("records")
    ]
    theirs = [
        {
            "Source": f"{point['source']}, Table {point['table']}",
            "Method": f"{point['method']} {point['variant']}".strip(),
            "Epsilon": number(point["epsilon"]),
            "Value": number(point["value"]),
            "Protocol": point["note"],
        }
        for point in printed.to_dict("records")
    ]
    return pd.DataFrame([*mine, *theirs], columns=["Source", "Method", "Epsilon", "Value", "Protocol"])
