"""Other samples of a finished run: what they are asked for, what they cost, and the job that draws them."""

from typing import Any

import streamlit as st

from workbench import tasks
from workbench.errors import WorkbenchError
from workbench.escaping import markdown, prose
from workbench.methods import METHODS
from workbench.runs.run import Run
from workbench.runs.samples.drawn import RunSamples, request_samples
from workbench.ui.actions import attempt
from workbench.ui.cards import price_of_samples
from workbench.ui.forms import config_form
from workbench.workspace import Workspace

BOUND: Any = {"bind": "query-params"}
BALANCED = "All classes in equal shares, not in those that the noisy releases give them."


def sampling_form(run: Run, prefix: str) -> None:
    """Classes, number, seed and the fields that the run's method samples by; which set that is, its price, and a button that draws it."""
    with st.expander("Draw other samples"):
        st.caption("From the same weights, each request a set of its own; an empty field is as planned.")
        classes, number, seed = st.columns(3)
        own = run.plan.build().learns_labels
        arguments: dict[str, Any] = {"placeholder": "all, as released" if own else "all, in turn", **BOUND}
        labels = classes.multiselect("Classes", run.plan.facts.classes, key=f"{prefix}classes", **arguments)
        balanced = own and st.checkbox("Balanced", key=f"{prefix}balanced", help=BALANCED, **BOUND)
        whole: dict[str, Any] = {"value": None, "step": 1, **BOUND}
        count = number.number_input("Samples", min_value=1, key=f"{prefix}number", placeholder=f"{run.plan.num_samples:,}", **whole)
        repeated = seed.number_input(
            "Seed", min_value=0, key=f"{prefix}seed", placeholder="none", help="Draws the same samples again.", **whole
        )
        kind = METHODS[run.method]
        others = set(kind.Config.model_fields) - set(kind.sampling_fields)
        settings: dict[str, Any] = config_form(kind.Config, run.config, prefix, leave_out=others)
        try:
            _offer(request_samples(Workspace.default(), run.id, settings, labels, repeated, balanced=balanced), count, prefix)
        except WorkbenchError as error:
            st.error(prose(error))


def _offer(samples: RunSamples, num_samples: int | None, prefix: str) -> None:
    """What would be drawn, at what price, and the button; nothing where all of it is there already."""
    price = samples.plan(num_samples)
    st.caption(markdown(f"Set {samples.id}, {samples.summary}: {price.stop:,} samples, {price.start:,} of them are there."))
    if price.releases:
        price_of_samples(price.bound)
    if st.button("Draw", key=f"{prefix}draw", icon=":material/brush:", disabled=price.start == price.stop):
        attempt(lambda: _draw(samples, price.stop))


def _draw(samples: RunSamples, num_samples: int) -> None:
    samples.check_ready()
    samples.begin()
    tasks.begin(samples.workspace, "sample", samples.owner, {"samples": samples.id, "num_samples": num_samples})
