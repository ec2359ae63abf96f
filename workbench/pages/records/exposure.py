"""What samples show of every record, for methods that have values per record: asked for, altogether, and one by one."""

import streamlit as st

from workbench.escaping import markdown
from workbench.pages.records.one import curves, neighbours
from workbench.pages.records.removal import removal_section
from workbench.pages.records.table import denoiser_table, distribution, exposed_table
from workbench.runs.exposure import DEFAULT_DRAWS, IDEAL, Exposure, kept_exposure
from workbench.runs.run import Run
from workbench.runs.trained import same_records
from workbench.ui.jobs import needed_job
from workbench.ui.session import loaded_for
from workbench.ui.words import explained
from workbench.workspace import Workspace

COSTS = (
    "Draws chains of the ideal denoiser, which knows every training record, and estimates from them how far each record moves what a "
    "sample may be. 400 draws take seconds to a minute. Nothing is trained, and nothing is charged to the ledger."
)
DRAWS = (DEFAULT_DRAWS, 2_000, 10_000)
DRAWN = "Chains of the ideal denoiser that are drawn. 400 tell the distribution; a ranking of single records takes 2 000 or more."
BESIDE = "Beside each record stands its delta at this epsilon."


def exposure_section(run: Run, prefix: str) -> None:
    """The values of a run's records altogether, the most exposed ones, one of them in detail, and training without them."""
    num_draws, epsilon, num_samples = choices(prefix)
    dataset = same_records(Workspace.default(), run, loaded_for(run))
    exposure = kept_exposure(Workspace.default(), run.id, num_draws)
    if exposure is None:
        st.caption(COSTS)
        request = {"num_draws": num_draws, "seed": 0}
        needed_job("records", run.id, request, prefix, "Estimate what samples show of every record")
        return
    show_exposure(exposure)
    distribution(exposure, epsilon, num_samples, f"{prefix}distribution")
    exposed_table(exposure, dataset, epsilon, num_samples)
    st.header("One record", anchor=False)
    ranking = exposure.ranking().tolist()
    record = st.selectbox(
        "Record", ranking, key=f"{prefix}record", bind="query-params",
        help="By its place among the training records, the most exposed first.",
    )  # fmt: skip
    curves(exposure, record, epsilon, f"{prefix}{record}_")
    neighbours(dataset, record)
    removal_section(run.id, num_draws, prefix)


def choices(prefix: str) -> tuple[int, float, int]:
    """A row of widgets: by how many draws, at which epsilon, of how many samples."""
    draws, epsilon, samples = st.columns(3)
    return (
        draws.selectbox("Draws", DRAWS, key=f"{prefix}draws", bind="query-params", help=DRAWN),
        epsilon.number_input(
            "Epsilon of delta", 0.01, 20.0, 1.0, step=None, format="%g", key=f"{prefix}epsilon", bind="query-params",
            help=explained("delta", BESIDE),
        ),
        samples.number_input(
            "Samples released, m", 1, 1_000_000, 1, step=1, key=f"{prefix}samples", bind="query-params",
            help="Delta grows at most in proportion to them.",
        ),
    )  # fmt: skip


def show_exposure(exposure: Exposure) -> None:
    """What the values are, and the trained denoiser's distance from the one that they are about."""
    st.markdown(f"**{markdown(exposure.leakage.label)}.** {IDEAL}")
    if exposure.error is None:
        st.caption("The distance of this method's denoiser from the ideal one is not measured.")
        return
    denoiser_table(exposure.error)
