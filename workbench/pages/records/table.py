"""What the Records page says of all records at once."""

import numpy as np
import pandas as pd
import streamlit as st

from workbench.datasets.base import Dataset
from workbench.privacy.not_dp.per_instance import DenoiserError
from workbench.records import TableKind
from workbench.runs.exposure import Exposure
from workbench.ui import charts
from workbench.ui.formats import number
from workbench.ui.theme import VERMILION

SHOWN = 50
VACUOUS = "A delta of 1 means that no protection can be shown."
EXACT = "The table is small enough for every value that a record can take to be looked at: nothing is estimated."
BEFORE = (
    "Before: what a release would show as generation leaves pure noise, after its first step. After: what the release itself shows. "
    "± is a standard error."
)


def denoiser_table(error: DenoiserError) -> None:
    """gamma and gamma~ by time step, in words and as a table."""
    gamma, apart, floor = (number(float(values.max())) for values in (error.gamma, error.gamma_tilde, error.floor))
    st.caption(
        f"The trained denoiser: gamma up to {gamma} nats from the ideal one in the worst column (0 for the ideal), gamma~ up to {apart} in "
        f"total variation between its paths and the noised records (sampling alone makes {floor}). What these add to a record's delta is "
        "not proved; the larger they are, the less the values below say of this run. Private."
    )
    frame = pd.DataFrame(
        {
            "time step": error.timesteps,
            "gamma (private)": error.gamma,
            "gamma~ (private)": error.gamma_tilde,
            "gamma~ of equals": error.floor,
        }
    )
    with st.expander("Distance of the trained denoiser from the ideal one, by time step"):
        st.dataframe(frame, hide_index=True, alt=f"gamma and gamma~ at {len(frame)} time steps")


def distribution(exposure: Exposure, epsilon: float, num_samples: int, key: str) -> None:
    """How delta is spread over the records, as a histogram."""
    delta = exposure.leakage.delta(epsilon, num_samples)
    figure = charts.empty_figure(f"log10 of delta at epsilon {epsilon:g}, m = {num_samples:,} (private)", "Records")
    logarithms = np.log10(np.maximum(delta, 1e-12))
    figure.add_histogram(x=logarithms.tolist(), nbinsx=40, marker={"color": VERMILION}, name="records")
    figure.update_layout(height=280)
    median, most, vacuous = number(float(np.median(delta))), number(float(delta.max())), int((delta >= 1).sum())
    alt = f"Histogram of delta of {len(delta)} records: median {median}, largest {most}, {vacuous} vacuous"
    charts.show(figure, alt, pd.DataFrame({"record": np.arange(len(delta)), "delta (private)": delta}), key)
    st.caption(f"Median {median}, largest {most}. {vacuous} of {len(delta):,} records have a delta of 1, which says nothing. Private.")


def exposed_table(exposure: Exposure, dataset: Dataset, epsilon: float, num_samples: int) -> None:
    """The most exposed records with their values, standard errors and cells."""
    leakage, order = exposure.leakage, exposure.ranking()[:SHOWN]
    cells = TableKind.of(dataset.facts.kind).frame(dataset.train.take(order), dataset.facts.classes)
    values = pd.DataFrame(
        {
            "record": order,
            "delta before (private)": leakage.delta(epsilon, num_samples, before=True)[order],
            "± before": leakage.delta_standard_error(epsilon, num_samples, before=True)[order],
            "delta after (private)": leakage.delta(epsilon, num_samples)[order],
            "± after": leakage.delta_standard_error(epsilon, num_samples)[order],
            "J (private)": leakage.total[order],
        }
    )
    st.markdown(f"**The {len(order)} most exposed records**, by what is shown of them at epsilon {epsilon:g} before and after generation")
    shown = pd.concat([values, cells], axis=1).style.format(number, subset=list(values.columns[1:]))  # sorted by value, read as elsewhere
    alt = f"The {len(order)} most exposed training records and their values"
    st.dataframe(shown, hide_index=True, alt=alt)
    relative = leakage.standard_error / np.maximum(leakage.total, np.finfo(np.float64).tiny)
    uncertainty = (
        f"The median standard error is {100 * float(np.median(relative)):.0f} % of a record's value." if leakage.num_draws else EXACT
    )
    st.caption(f"{BEFORE} {VACUOUS} {uncertainty} Private.")
