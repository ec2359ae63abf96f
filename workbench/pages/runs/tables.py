"""Runs and their measures as tables: listed, filtered, sorted."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pandas as pd

from workbench.evaluation import METRICS
from workbench.runs.run import Run
from workbench.ui.cards import epsilon_text
from workbench.ui.formats import duration, number, words
from workbench.ui.runs import as_float, marked_value, results_of, warning_marks

SPLITS = {"train": "training records", "held_out": "held-out records", "train+held_out": "training and held-out records", "none": "–"}


def run_table(runs: Sequence[Run]) -> pd.DataFrame:
    """A row a run, as a reader wants it."""
    named, tagged = any(run.name for run in runs), any(run.tags for run in runs)
    return pd.DataFrame(
        [
            {
                "Run": run.id,
                **({"Name": run.name} if named else {}),
                **({"Tags": ", ".join(run.tags)} if tagged else {}),
                "Method": run.method,
                "Dataset": run.dataset,
                "State": run.state,
                "Step": f"{run.step:,} / {run.steps:,}",
                "Upper bound": number(run.bound.epsilon),
                "Claim": epsilon_text(run.claim, 3),
                "Accuracy": accuracy_of(run),
                "Spent": number(run.epsilon_spent),
                "Delta": number(run.delta),
                "Marks": ", ".join(_marks(run)),
                "Started": datetime.fromtimestamp(run.created).strftime("%Y-%m-%d %H:%M"),
                "Took": duration(run.seconds_running),
            }
            for run in runs
        ]
    )


def accuracy_of(run: Run) -> str:
    """The first accuracy that the run's own samples reached, with its mark; an en dash for none."""
    rows = (row for row in results_of(run.id) if row["name"].startswith("accuracy_") and row.get("value") is not None)
    return marked_value(next(rows, {}), "value")


def measure_name(name: str) -> str:
    """A measure's title; of what this version does not know, its name in words."""
    return METRICS[name].title if name in METRICS else words(name)


def axis_title(row: Mapping[str, Any]) -> str:
    """What the axis of a result's measure is called: with the features where it is taken in some, and its unit."""
    metric = METRICS.get(row["name"])
    if metric is None:
        return measure_name(row["name"])
    return metric.title + (f" in {row['features']}" if metric.in_features else "") + (f" ({metric.unit})" if metric.unit else "")


def run_heading(run: Run) -> str:
    """A run as the heading of a column: method, id, and what a reader must know of it."""
    marks = warning_marks(run)
    return f"{run.method} {run.id}" + (f" ({', '.join(marks)})" if marks else "")


def result_table(results: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Measures as rows: value with interval, what real data and public data alone give, each number with its own mark.

    Beside accuracies stands the share of the largest class, which guessing it reaches.
    """
    accuracies = any(row.get("largest_class") is not None for row in results)
    return pd.DataFrame(
        [
            {
                "Measure": measure_name(row["name"]),
                "Value": marked_value(row, "value"),
                "95 % interval": interval_text(row["interval"]),
                "Real data (ceiling)": marked_value(row, "ceiling"),
                "Epsilon 0 (public data)": marked_value(row, "epsilon_zero"),
                **({"Largest class (held-out records)": marked_value(row, "largest_class")} if accuracies else {}),
                "Beside it": baselines_text(row.get("baselines") or {}),
                "Samples": row["num_samples"],
                "Features": row["features"],
                "Against": SPLITS.get(row["split"], row["split"]),
                "Note": row.get("note", ""),
            }
            for row in results
        ]
    )


def baselines_text(baselines: Mapping[str, Any]) -> str:
    """What real rows and such as know nothing of how columns go together come to, as private as a ceiling; an en dash for none."""
    return "–" if not baselines else f"{', '.join(f'{name} {number(as_float(value))}' for name, value in baselines.items())} (private)"


def value_text(row: Mapping[str, Any]) -> str:
    """A value with its mark and its interval; of an accuracy also the share of the largest class, without which it says little."""
    shown = marked_value(row, "value")
    if row.get("interval") is not None:
        shown += f", 95 %: {interval_text(row['interval'])}"
    return shown if row.get("largest_class") is None else f"{shown}; largest class {marked_value(row, 'largest_class')}"


def interval_text(interval: Sequence[float] | None) -> str:
    """An interval as `low to high`; an en dash for none."""
    return "–" if interval is None else f"{number(as_float(interval[0]))} to {number(as_float(interval[1]))}"


def _marks(run: Run) -> list[str]:
    return [*warning_marks(run), *(["releasable"] if run.may_be_released else [])]
