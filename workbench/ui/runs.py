"""Runs as tables and choices: what is listed, compared and measured."""

import math
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any

import pandas as pd
import streamlit as st

from workbench.escaping import markdown
from workbench.jobs.example import begin_example, is_wanted
from workbench.jobs.finished import evaluate_run, kept_evaluation
from workbench.jobs.paid import accountants_of
from workbench.jobs.run import Run
from workbench.jobs.store import RunStore
from workbench.marks import MARKS, mark, may_leave
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.ui.formats import duration, number, words

EXAMPLE_POLL_SECONDS = 4.0  # later than a measurement of the pace, which a reader of the Budget page waits for
SORTS = {"newest first": "created", "bound, small first": "bound", "steps done, many first": "step", "method": "method"}
OWN_COLUMNS = ("method", "epsilon", "value", "low", "high", "label", "features")


def known_runs() -> list[Run]:
    """All runs, newest first."""
    return RunStore().list()


def example_notice() -> None:
    """Where no run has finished, a small example: begun once the page has settled; its end draws the page anew.

    The first pass belongs to the page itself, which shares the processor with whatever it starts.
    """
    if not is_wanted(RunStore().list()):
        return
    passes = count()

    @st.fragment(run_every=EXAMPLE_POLL_SECONDS)
    def waiting() -> None:
        if not is_wanted(RunStore().list()):
            st.rerun()
        elif next(passes) == 0 or _example_at_work().poll() is None:
            st.caption("A small example run is being made, once, so that there is something to look at …")
        else:
            st.caption("The example run could not be made; `workbench example` says why.")

    waiting()


@st.cache_resource
def _example_at_work() -> "subprocess.Popen[bytes]":
    """The process that makes the example, begun once."""
    return begin_example()


def run_label(run: Run) -> str:
    """What never changes about a run, so that an address that carries it stays good."""
    return f"{run.id} · {run.method} · {run.dataset}"


def is_asked_for(key: str, launched: str | None) -> bool:
    """Whether `run_choice` with this key will show a run that was launched just now, picked, or named in the address."""
    return bool(launched or st.session_state.get(f"{key}_choice", st.query_params.get(key)))


def run_choice(key: str, runs: Sequence[Run] | None = None, launched: str | None = None) -> str | None:
    """A run chosen by the user (or `launched`, just now started), else the newest, None where there is none; the address has its id.

    The id is written to the address here and not by the widget, which would write its label.
    """
    known = {run.id: run for run in (known_runs() if runs is None else runs)}
    widget, asked = f"{key}_choice", launched or st.query_params.get(key)
    if asked in known and (launched or widget not in st.session_state):
        st.session_state[widget] = asked
    if not known:
        return None
    newest = next(iter(known))
    if asked and asked not in known:
        st.warning(f"Unknown run {markdown(repr(asked))}: it may have been deleted. The newest is shown.")
    picked = st.selectbox(
        "Run",
        list(known),
        index=None,
        key=widget,
        format_func=lambda run: run_label(known[run]),
        placeholder=f"the newest: {run_label(known[newest])}",
    )
    if picked:
        st.query_params[key] = picked
    elif key in st.query_params:
        del st.query_params[key]
    return picked or newest


def run_table(runs: Sequence[Run]) -> pd.DataFrame:
    """A row a run, as a reader wants it."""
    return pd.DataFrame(
        [
            {
                "Run": run.id,
                "Method": run.method,
                "Dataset": run.dataset,
                "State": run.state,
                "Step": f"{run.step:,} / {run.steps:,}",
                "Upper bound": number(run.bound.epsilon),
                "Claim": number(run.claim.epsilon),
                "Spent": number(run.epsilon_spent),
                "Delta": number(run.delta),
                "Marks": ", ".join(_marks(run)),
                "Started": datetime.fromtimestamp(run.created).strftime("%Y-%m-%d %H:%M"),
                "Took": duration(run.seconds_running),
            }
            for run in runs
        ]
    )


def sorted_runs(runs: Sequence[Run], order: str) -> list[Run]:
    """Runs in one of the orders of `SORTS`."""
    keys: dict[str, Any] = {
        "created": lambda run: -run.created,
        "bound": lambda run: run.bound.epsilon,
        "step": lambda run: -run.step,
        "method": lambda run: (run.method, -run.created),
    }
    return sorted(runs, key=keys[SORTS[order]])


def filtered(runs: Sequence[Run], states: Sequence[str], methods: Sequence[str], datasets: Sequence[str]) -> list[Run]:
    """Runs whose state, method and dataset are among those named; an empty list lets everything pass."""
    wanted = ((states, "state"), (methods, "method"), (datasets, "dataset"))
    return [run for run in runs if all(not names or getattr(run, field) in names for names, field in wanted)]


def results_of(run_id: str) -> list[dict[str, Any]]:
    """The measures of a run that has been evaluated; none otherwise."""
    kept = kept_evaluation(run_id)
    return [] if kept is None else kept["results"]


def evaluate_now(run_id: str) -> None:
    """Take every measure of a finished run while the page shows how far it is."""
    bar = st.progress(0.0, text="Drawing samples and measuring …")

    def show(share: float) -> None:
        bar.progress(min(share, 1.0), text="Drawing samples and measuring …")

    evaluate_run(run_id, progress=show)
    bar.empty()


def result_table(results: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Measures as rows: value with interval, what real data and public data alone give, each number with its own mark."""
    return pd.DataFrame(
        [
            {
                "Measure": words(row["name"]),
                "Value": marked(row, "value"),
                "95 % interval": interval_text(row["interval"]),
                "Real data (ceiling)": marked(row, "ceiling"),
                "Epsilon 0 (public data)": marked(row, "epsilon_zero"),
                "Samples": row["num_samples"],
                "Features": row["features"],
                "Against": row["split"],
            }
            for row in results
        ]
    )


def marked(row: Mapping[str, Any], name: str) -> str:
    """A value of a measure's result with its mark; an en dash for none."""
    shown = number(_float(row.get(name)))
    return shown if row.get(name) is None else f"{shown} ({mark(may_leave(row, name))})"


def own_points(runs: Sequence[Run], measure: str, axis: str) -> tuple[pd.DataFrame, list[str]]:
    """Evaluated runs as points of the utility chart, at the epsilon of accountant `axis` or of the paper's claim.

    Returns the points (columns `OWN_COLUMNS`) and, for each run that has no number on this axis, why.
    """
    points, missing = [], []
    for run in runs:
        for row in results_of(run.id):
            if row["name"] != measure or row["value"] is None:
                continue
            epsilon = axis_epsilon(run, axis)
            if isinstance(epsilon, str):
                missing.append(f"{run.id}: {epsilon}")
                continue
            low, high = row["interval"] or (row["value"], row["value"])
            label, features = _label(run, epsilon, row), row["features"]
            points.append((run.method, epsilon, _float(row["value"]), _float(low), _float(high), label, features))
    return pd.DataFrame(points, columns=list(OWN_COLUMNS)), missing


def axis_epsilon(run: Run, axis: str) -> float | str:
    """A run's epsilon by an accountant or by its claim; the reason where there is none."""
    if axis == "claim":
        return run.claim.epsilon if run.claim.status != "not_evaluated" else "the paper's formula is not evaluated"
    value = accountants_of(run).get(axis, {"refused": f"{axis} was not asked"})
    return f"{ACCOUNTANTS[axis].title} refused: {value['refused']}" if isinstance(value, dict) else (_float(value) or 0.0)


def reference_values(runs: Sequence[Run], measure: str) -> dict[str, Any]:
    """Ceiling and epsilon-0 value of `measure`, each from the latest run that has it, with its mark."""
    found: dict[str, Any] = {}
    for run in runs:
        for row in results_of(run.id):
            if row["name"] == measure:
                for name in ("ceiling", "epsilon_zero"):
                    if found.get(name) is None and row.get(name) is not None:
                        found |= {name: row[name], MARKS[name]: may_leave(row, name)}
    return found


def interval_text(interval: Sequence[float] | None) -> str:
    """An interval as `low to high`; an en dash for none."""
    return "–" if interval is None else f"{number(_float(interval[0]))} to {number(_float(interval[1]))}"


def _marks(run: Run) -> list[str]:
    return [*warning_marks(run), *(["releasable"] if run.may_be_released else [])]


def warning_marks(run: Run) -> list[str]:
    """What a reader must know wherever the run shows: that no bound holds for it, that its noise is known, that it is an example."""
    marks = {"claim only": run.claim_only, "seeded": run.seed is not None, "example": run.example}
    return [mark for mark, holds in marks.items() if holds]


def _label(run: Run, epsilon: float, row: Mapping[str, Any]) -> str:
    parts = [run.id, run.method, f"epsilon {number(epsilon)}", row["features"], mark(may_leave(row, "value")), *warning_marks(run)]
    return " · ".join(part for part in parts if part)


def _float(value: Any) -> float | None:
    """A number of the JSON form, where infinity is a word; None stays None."""
    if value is None:
        return None
    number_ = float(value)
    return number_ if not math.isnan(number_) else None
