"""A sweep on the Train page: methods, epsilons, seeds and settings on the dataset chosen above; its whole cost; launch."""

from typing import Any

import streamlit as st

from workbench.errors import WorkbenchError
from workbench.escaping import markdown, prose
from workbench.evaluation import METRICS
from workbench.methods import METHODS
from workbench.privacy.spending.totals import plain
from workbench.sweeps.grid import Grid, choices, numbers
from workbench.sweeps.price import Price, price
from workbench.tasks import sweeping
from workbench.ui.actions import errors_shown
from workbench.ui.choices import Choices
from workbench.ui.formats import counted, duration, number
from workbench.workspace import Workspace

HOW = (
    "Every method at every epsilon with every combination of settings, once a seed, in turn: dataset, delta and place are those above. "
    "Asked for again, a sweep goes on with what is missing. `workbench sweep` does the same."
)


def sweep_form(chosen: Choices, performance: dict[str, Any], place: str | None, prefix: str) -> None:
    """The form; the cost on demand, as composing many runs takes seconds; a launch, by the launcher `place`, once it has been shown."""
    st.caption(HOW)
    try:
        grid = _grid(chosen, performance, prefix)
    except WorkbenchError as error:
        st.error(prose(error))
        return
    kept, grid_at_place = f"{prefix}price", "" if grid is None else f"{grid.model_dump_json()} {place}"
    if st.button("Show what it costs", key=f"{prefix}cost", icon=":material/payments:", disabled=grid is None) and grid is not None:
        with errors_shown(), st.spinner("Composing all runs …"):
            st.session_state[kept] = (grid_at_place, price(Workspace.default(), grid.recipe(), place))
    shown, cost = st.session_state.get(kept, ("", None))
    if grid is None or shown != grid_at_place:
        return
    _show(cost)
    label = f"Launch {counted(cost.new + cost.going_on, 'run')}" if cost.spends else "Measure what is missing"
    if st.button(label, key=f"{prefix}launch", type="primary", icon=":material/play_arrow:"):
        with errors_shown():
            job = sweeping.begin(Workspace.default(), grid.recipe(), place)
            del st.session_state[kept]
            st.session_state[f"{prefix}choice"] = job.id
            st.rerun()


def _grid(chosen: Choices, performance: dict[str, Any], prefix: str) -> Grid | None:
    """What the form asks for; None while no method is chosen."""
    kind = chosen.facts.kind.name
    fitting = [name for name, method in METHODS.items() if kind in method.kinds]
    measures = [name for name, metric in METRICS.items() if kind in metric.kinds]
    names, epsilons, seeds, repeats = st.columns([3, 1.5, 1, 1], vertical_alignment="bottom")
    methods = names.multiselect("Methods", fitting, key=f"{prefix}methods", bind="query-params")
    at = epsilons.text_input(
        "Epsilons", "1, 10", key=f"{prefix}epsilons", bind="query-params", help="Between commas; the proved bound meets each."
    )
    number_of = seeds.number_input(
        "Seeds", min_value=0, value=0, step=1, key=f"{prefix}seeds", bind="query-params",
        help="So many seeded runs of each line: repeatable and not releasable. 0 leaves each run to fresh noise.",
    )  # fmt: skip
    times = repeats.number_input(
        "Runs of each",
        min_value=1,
        value=1,
        step=1,
        key=f"{prefix}repeats",
        bind="query-params",
        disabled=number_of > 0,
        help="Without seeds.",
    )
    settings, measured = st.columns(2)
    lines = settings.text_area(
        "Settings, a line each", key=f"{prefix}settings", bind="query-params", placeholder="dp-merf:training.steps=300,1000", height=90,
        help="KEY=VALUE,VALUE for all methods, METHOD:KEY=VALUE,VALUE for one.",
    )  # fmt: skip
    metrics = measured.multiselect(
        "Measures",
        measures,
        key=f"{prefix}metrics",
        bind="query-params",
        placeholder="all measures that need no choice",
        help="The picture shows the first.",
    )
    if not methods:
        return None
    return Grid.of(
        methods=tuple(methods),
        dataset=chosen.dataset,
        epsilons=numbers(at, "epsilons"),
        settings=choices([line for line in lines.splitlines() if line.strip()]),
        seeds=tuple(range(int(number_of))),
        repeats=1 if number_of else int(times),
        delta=chosen.delta,
        metrics=tuple(metrics) or None,
        performance={name: value for name, value in performance.items() if value != "auto"},
    )


def _show(cost: Price) -> None:
    """The whole cost: runs and time, what all runs spend together, where the account would stand, what choosing costs."""
    runs, time, together, account = st.columns(4)
    there = {"done": cost.done, "at work": cost.at_work, "to go on with": cost.going_on}
    beside = ", ".join(f"{count} {what}" for what, count in there.items() if count)
    runs.metric("Runs", cost.runs, help=f"Of these {beside}." if beside else "All of them are new.")
    unknown = f"Of {counted(cost.unknown, 'run')} no pace is known." if cost.unknown else "Training and measuring, one run after another."
    known = f"over {duration(cost.seconds).removeprefix('about ')}" if cost.unknown else duration(cost.seconds)
    time.metric("Expected time", known if cost.seconds or not cost.unknown else "unknown", help=unknown)
    total = cost.together
    together.metric(
        "Epsilon of all runs", number(total.epsilon), help=f"Composed, at delta {total.delta:.3g}, {plain(total.neighboring_relation)}. "
        f"The plain sum of their bounds is {number(cost.plain_sum)} at delta {cost.plain_delta:.3g}.",
    )  # fmt: skip
    account.metric(f"Account of {markdown(cost.dataset)}", number(cost.account.epsilon), help="Where it would stand afterwards.")
    if beside or cost.unknown:
        st.caption(" ".join(filter(None, [f"Of {counted(cost.runs, 'run')} {beside}." if beside else "", unknown if cost.unknown else ""])))
    st.info(prose(cost.choosing_words))
    if cost.advice:
        st.caption(prose(cost.advice))
    for warning in cost.warnings:
        st.warning(prose(warning))
