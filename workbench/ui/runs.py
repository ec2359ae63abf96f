"""Runs as choices, and what is said of them wherever they show."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from workbench.escaping import markdown
from workbench.marks import mark, may_leave
from workbench.plan import Plan
from workbench.runs.audits import AuditRecord, kept_audit
from workbench.runs.finished import kept_results
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.samples import DEFAULT, SampleSet, sample_set, sample_sets
from workbench.runs.samples.imported import is_import
from workbench.runs.store import RunStore
from workbench.ui.formats import number
from workbench.workspace import Workspace


def known_runs() -> list[Run]:
    """All runs, newest first."""
    return RunStore(Workspace.default()).list()


def run_label(run: Run) -> str:
    """What never changes about a run, so that an address that carries it stays good."""
    return label_of(run.id, run.method, run.dataset)


def label_of(run_id: str, method: str, dataset: str) -> str:
    """The same of a run that is not read whole."""
    return f"{run_id} · {method} · {dataset}"


def run_labels() -> dict[str, str]:
    """The labels of all runs by id, newest first."""
    return {named[0]: label_of(*named) for named in RunStore(Workspace.default()).facets().named}


def is_asked_for(key: str, launched: str | None) -> bool:
    """Whether `run_choice` with this key will show a run that was launched just now, picked, or named in the address."""
    return bool(launched or st.session_state.get(f"{key}_choice", st.query_params.get(key)))


def run_choice(key: str, runs: Sequence[Run] | None = None, launched: str | None = None, imports: Sequence[SampleSet] = ()) -> str | None:
    """A run chosen by the user (or `launched`, just now started), else the newest, None where there is none; the address has its id.

    Samples made elsewhere, in `imports`, can be chosen in the place of a run.

    The id is written to the address here and not by the widget, which would write its label.
    """
    known = run_labels() if runs is None else {run.id: run_label(run) for run in runs}
    known |= {one.owner: f"{one.owner} · {one.summary} · {one.facts.name}" for one in imports}
    widget, run_id = f"{key}_choice", launched or st.query_params.get(key)
    if run_id in known and (launched or widget not in st.session_state):
        st.session_state[widget] = run_id
    if not known:
        return None
    newest = next(iter(known))
    if run_id and run_id not in known:
        st.warning(f"Unknown run {markdown(repr(run_id))}: it may have been deleted. The newest is shown.")
    picked = st.selectbox(
        "Run",
        list(known),
        index=None,
        key=widget,
        format_func=lambda chosen: known[chosen],
        placeholder=f"the newest: {known[newest]}",
    )
    if picked:
        st.query_params[key] = picked
    elif key in st.query_params:
        del st.query_params[key]
    return picked or newest


def set_choice(key: str, owner: str) -> SampleSet:
    """One of the sets of samples of a run or an import, the default one first; a widget only where there are several."""
    sets = sample_sets(Workspace.default(), owner)
    if len(sets) < 2:
        return sets[0] if sets else sample_set(Workspace.default(), owner)
    named = {f"{one.id} · {one.summary}": one for one in sets}
    label = st.selectbox("Samples", list(named), key=key, bind="query-params", help="Sets of samples, drawn from the same weights.")
    return named[label]


def show_cautions(sentences: Sequence[str]) -> None:
    """What a reader has to know of the samples that are shown."""
    for sentence in sentences:
        st.info(markdown(sentence), icon=":material/visibility:")


def results_of(run_id: str, samples: str = DEFAULT) -> list[dict[str, Any]]:
    """The measures of a set of samples that has been evaluated, those taken by name at its end; none otherwise.

    Those of a run's own samples are read again only when a file of them has changed, so that a page of a thousand runs does not wait.
    """
    workspace = Workspace.located()  # a page has opened it: a thousand runs need not look again who may read it
    if samples != DEFAULT or is_import(workspace, run_id):
        return kept_results(workspace, run_id, samples)
    folder = RunFolder(workspace, run_id)
    paths = [*folder.path.glob("evaluation.json"), *folder.samples.glob("evaluation-*.json")]
    stamps = tuple((str(path), path.stat().st_mtime_ns) for path in paths)
    return _results_of(run_id, stamps) if stamps else []


@st.cache_data(max_entries=5_000, show_spinner=False)
def _results_of(run_id: str, stamps: tuple[tuple[str, int], ...]) -> list[dict[str, Any]]:
    del stamps
    return kept_results(Workspace.default(), run_id)


def audits_among(runs: Sequence[Run]) -> list[tuple[Run, AuditRecord]]:
    """Those of some runs whose audit has been measured, in their order."""
    pairs = ((run, kept_audit(Workspace.default(), run.id)) for run in runs if run.audit is not None)
    return [(run, record) for run, record in pairs if record is not None]


def equal_audit(audits: Sequence[tuple[Run, AuditRecord]], plan: Plan) -> AuditRecord | None:
    """The first of some audits that is of an equal plan; not the largest, as choosing by what came out would cost the confidence."""
    return next((record for run, record in audits if run.plan.does_the_same_as(plan)), None)


def marked_value(row: Mapping[str, Any], name: str) -> str:
    """A value of a measure's result with its mark; an en dash for none."""
    shown = number(as_float(row.get(name)))
    return shown if row.get(name) is None else f"{shown} ({mark(may_leave(row, name))})"


def warning_marks(run: Run) -> list[str]:
    """What a reader must know wherever the run shows: that no bound holds for it, that its noise is known, that it is an example."""
    marks = {
        "ended early": run.ends_early,
        "claim only": run.claim_only,
        "seeded": run.seed is not None,
        "audited": run.audit is not None,
        "example": run.example,
    }
    return [mark for mark, holds in marks.items() if holds]


def as_float(value: Any) -> float | None:
    """A number of the JSON form, where infinity is a word; None stays None."""
    if value is None:
        return None
    number_ = float(value)
    return number_ if not math.isnan(number_) else None
