"""One run as a whole, or several side by side: measures, samples, curves, and the settings in which they differ."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from workbench.escaping import prose
from workbench.evaluation.likeness import guessing_note, likeness_note
from workbench.pages.runs.attacks import show_attacks
from workbench.pages.runs.sampling import sampling_form
from workbench.pages.runs.tables import axis_title, measure_name, result_table, run_heading, value_text
from workbench.recipes.side_by_side import BOUND, LINE, results_of_runs, side_by_side
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.samples import SampleSet, sample_set
from workbench.runs.trained import as_shown
from workbench.ui.cards import config_table, configuration_table, epsilon_text, planned_numbers, run_marks
from workbench.ui.configuration import same_configuration
from workbench.ui.formats import number
from workbench.ui.gallery import show_records
from workbench.ui.on_demand import on_demand
from workbench.ui.runs import results_of, set_choice, show_cautions
from workbench.ui.traces import show_curves, show_preview, show_steps, show_values, value_frames, value_title
from workbench.ui.words import explained
from workbench.workspace import Workspace

MARKS_HELP = "Private: computed from private records without noise; do not share it. Releasable: it may be shared."


def run_detail(run: Run, prefix: str) -> None:
    """A run's marks, samples, loss, what single steps had to show, three numbers, measures and settings."""
    run = as_shown(run)
    run_marks(run)
    if run.error:
        st.warning(prose(run.error))
    left, right = st.columns(2)
    with left:
        chosen = set_choice(f"{prefix}samples", run.id)
        if chosen.kept_records() is not None:
            st.markdown("**Samples**")
        show_samples(run, chosen)
    with right:
        show_values(RunFolder(Workspace.default(), run.id), prefix)
    show_steps(run)
    planned_numbers(run.plan, run.claim, run.bound, run.replace_one)
    results = results_of(run.id, chosen.id)
    if results:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("**Measures**")
            st.badge("each number has its mark", icon=":material/lock:", color="orange", help=explained("mark"))
        st.dataframe(result_table(results), hide_index=True, alt=f"Measures of run {run.id} with intervals")
        for note in filter(None, (guessing_note(results), likeness_note(results))):
            st.caption(prose(note))
    elif run.state == "done":
        st.caption("Not evaluated yet: press Evaluate to draw samples and take every measure.")
    show_attacks(run.id, f"{prefix}{run.id}_")
    if run.state == "done":
        sampling_form(run, f"{prefix}{run.id}_sample_")
    said = f"Every value of the configuration of run {run.id}"
    on_demand("Configuration", f"{prefix}{run.id}_configuration", partial(configuration_table, run.config, said))
    same_configuration(run.plan.request, f"{prefix}{run.id}_")


def compare_measures(runs: Sequence[Run]) -> None:
    """A row a measure with its 95 % interval, a column a run; the privacy of each run in the first rows."""
    table: dict[str, dict[str, str]] = {}
    for run in map(as_shown, runs):
        column = run_heading(run)
        table.setdefault("Upper bound", {})[column] = number(run.bound.epsilon)
        if run.replace_one is not None:
            table.setdefault("Upper bound, one record replaced", {})[column] = number(run.replace_one.epsilon)
        table.setdefault("Paper's claim", {})[column] = epsilon_text(run.claim, 3)
        table.setdefault("Delta of both", {})[column] = number(run.delta)
        for row in results_of(run.id):
            table.setdefault(axis_title(row), {})[column] = value_text(row)
    frame = pd.DataFrame.from_dict(table, orient="index").fillna("–").rename_axis("Measure").reset_index()
    st.dataframe(frame, hide_index=True, alt="Privacy and measures of the compared runs")


def compare_tables(runs: Sequence[Run]) -> None:
    """Runs of one table, a row a method and epsilon, with real and simple rows beneath; nothing of other runs."""
    if {run.plan.facts.kind.name for run in runs} != {"table"} or len({run.plan.facts.name for run in runs}) > 1:
        return
    if not any(results_of(run.id) for run in runs):
        st.caption("None of these runs has been evaluated: press Evaluate on each to compare them with real and with simple rows.")
        return
    rows = side_by_side(results_of_runs(Workspace.default(), runs))
    st.markdown("**Beside real and simple rows**")
    shown = pd.DataFrame(rows).rename(columns=lambda name: name.capitalize() if name in (LINE, BOUND) else measure_name(name))
    st.dataframe(shown, hide_index=True, alt=f"Measures of {len(runs)} runs of {runs[0].dataset} beside those of real and of simple rows")
    st.caption(MARKS_HELP)


def compare_samples(runs: Sequence[Run]) -> None:
    """The first samples of each run in a column of its own: the same classes in the same places."""
    for column, run in zip(st.columns(len(runs)), runs, strict=True):
        with column:
            st.markdown(f"**{run_heading(run)}**")
            show_samples(run, sample_set(Workspace.default(), run.id), columns=10 if len(runs) == 2 else 5, limit=40)


def show_samples(run: Run, chosen: SampleSet, columns: int = 10, limit: int = 60) -> None:
    """Samples of a set that has some, else the run's latest preview."""
    samples = chosen.kept_records()
    if samples is None:
        show_preview(run)
    else:
        show_cautions(chosen.cautions)
        show_records(samples, run.plan.facts, f"{min(limit, len(samples))} samples of run {run.id}", columns, limit)


def compare_curves(runs: Sequence[Run], prefix: str) -> None:
    """What the runs' steps reported, a chart a name, with their mark."""
    curves = [value_frames(RunFolder(Workspace.default(), run.id), run_heading(run)) for run in runs]
    for name in dict.fromkeys(name for frames in curves for name in frames):
        frame = pd.concat([frames[name] for frames in curves if name in frames])
        alt = f"Training {value_title(name).lower()} of {', '.join(run_heading(run) for run in runs)} against the step"
        show_curves(frame, name, f"{value_title(name)} (private)", alt, f"{prefix}{name}_chart")


def compare_settings(runs: Sequence[Run]) -> None:
    """The settings in which the runs differ; what is alike is left out."""
    columns = {run_heading(run): {row["Field"]: row["Value"] for row in config_table(run.config)} for run in runs}
    fields = sorted({field for values in columns.values() for field in values})
    rows = [{"Setting": field} | {name: values.get(field, "–") for name, values in columns.items()} for field in fields]
    differing = [row for row in rows if len({value for name, value in row.items() if name != "Setting"}) > 1]
    st.markdown("**Settings that differ**")
    if differing:
        st.dataframe(differing, hide_index=True, alt="Settings in which the compared runs differ")
    else:
        st.caption("None: the runs have the same configuration.")
