"""The guided tour: five stops of some twenty seconds on a finished run, each a link with what to look for."""

from typing import NamedTuple

import streamlit as st

from workbench.escaping import markdown
from workbench.pages import entry
from workbench.runs.run import Run
from workbench.ui.example import offer_example
from workbench.ui.formats import number


class Stop(NamedTuple):
    """A page, what its link says, what to look for there, and the parameter of its address that names the run, if any."""

    page: str
    label: str
    look: str
    run: str = ""


STOPS = (
    Stop("budget", "The price", "Claim and proved bound side by side, before a record is touched."),
    Stop("train", "The run", "A process of its own: its steps, and the epsilon that it has spent.", "train_run"),
    Stop("gallery", "The copies", "Each sample beside the nearest real record. Does it repeat one?", "gallery_run"),
    Stop("audit", "The attack", "A lower bound, measured. An attack that fails proves nothing.", "audit_run"),
    Stop("dossier", "The signature", "What the workbench knows, and what only people can say.", "dossier_run"),
)


def tour(run: Run | None, prefix: str) -> None:
    """The stops on `run`; where no run has finished, what would be looked at and a button that makes an example."""
    if run is None:
        offer_example(prefix)
    else:
        name = "the example" if run.example else "your newest run"
        st.caption(
            f"On {name}: {markdown(run.id)}, {markdown(run.method)} on {markdown(run.dataset)}, proved epsilon {number(run.bound.epsilon)}."
        )
    for place, (column, stop) in enumerate(zip(st.columns(len(STOPS)), STOPS, strict=True), start=1):
        parameters = {stop.run: run.id} if run is not None and stop.run else {}
        with column, st.container(gap="xxsmall"):
            st.page_link(entry(stop.page), label=f"{place}. {stop.label}", query_params=parameters)
            st.caption(stop.look)
