"""The Records page from top to bottom."""

import streamlit as st

from workbench.errors import WorkbenchError
from workbench.escaping import markdown, prose
from workbench.pages.records.one import curves, neighbours
from workbench.pages.records.removal import removal_section
from workbench.pages.records.table import denoiser_table, distribution, exposed_table
from workbench.runs.exposure import DEFAULT_DRAWS, IDEAL, PRIVATE, Exposure, kept_exposure, tells_records
from workbench.runs.run import Run
from workbench.runs.trained import same_records
from workbench.ui.cards import run_marks
from workbench.ui.jobs import needed_job
from workbench.ui.runs import known_runs, run_choice
from workbench.ui.session import loaded_for
from workbench.workspace import Workspace

PREFIX = "records_"
COSTS = (
    "Draws chains of the ideal denoiser, which knows every training record, and estimates from them how far each record moves what a "
    "sample may be. 400 draws take seconds to a minute. Nothing is trained, and nothing is charged to the ledger."
)
DRAWS = (DEFAULT_DRAWS, 2_000, 10_000)


def draw() -> None:
    """A run, the values of its records altogether, the most exposed ones, and one of them in detail."""
    st.warning(PRIVATE, icon=":material/lock:")
    finished = [run for run in known_runs() if run.state == "done" and tells_records(run.plan)]
    if not finished:
        st.info("No run of a method with values per record has finished yet. Train ddm on a table on the Train page, then come back.")
        return
    run, num_draws, epsilon, num_samples = choices(finished)
    try:
        dataset = same_records(Workspace.default(), run, loaded_for(run))
        exposure = kept_exposure(Workspace.default(), run.id, num_draws)
    except WorkbenchError as error:
        st.error(prose(error))
        return
    if exposure is None:
        st.caption(COSTS)
        request = {"num_draws": num_draws, "seed": 0}
        needed_job("records", run.id, request, PREFIX, "Estimate what samples show of every record")
        return
    show_exposure(exposure)
    distribution(exposure, epsilon, num_samples, f"{PREFIX}distribution")
    exposed_table(exposure, dataset, epsilon, num_samples)
    st.header("One record", anchor=False)
    ranking = exposure.ranking().tolist()
    record = st.selectbox("Record", ranking, key=f"{PREFIX}record", help="By its place among the training records, the most exposed first.")
    curves(exposure, record, epsilon, f"{PREFIX}{record}_")
    neighbours(dataset, record)
    removal_section(run.id, num_draws, PREFIX)


def choices(finished: list[Run]) -> tuple[Run, int, float, int]:
    """A row of widgets: the run, by how many draws, at which epsilon, of how many samples; and the run's marks."""
    chosen, draws, epsilon, samples = st.columns([2, 1, 1, 1])
    with chosen:
        owner = run_choice(f"{PREFIX}run", runs=finished)
    run = next(run for run in finished if run.id == owner)
    run_marks(run)
    help_text = "Chains of the ideal denoiser that are drawn. 400 tell the distribution; a ranking of single records takes 2 000 or more."
    return (
        run,
        draws.selectbox("Draws", DRAWS, key=f"{PREFIX}draws", bind="query-params", help=help_text),
        epsilon.number_input(
            "Epsilon of delta",
            0.01,
            20.0,
            1.0,
            step=None,
            format="%g",
            key=f"{PREFIX}epsilon",
            help="Beside each record stands its delta here: how much of a sample's chance may fall outside the ratio e^epsilon.",
        ),
        samples.number_input(
            "Samples released, m",
            1,
            1_000_000,
            1,
            step=1,
            key=f"{PREFIX}samples",
            help="Delta grows at most in proportion to them.",
        ),
    )


def show_exposure(exposure: Exposure) -> None:
    """What the values are, and the trained denoiser's distance from the one that they are about."""
    st.markdown(f"**{markdown(exposure.leakage.label)}.** {IDEAL}")
    if exposure.error is None:
        st.caption("The distance of this method's denoiser from the ideal one is not measured.")
        return
    denoiser_table(exposure.error)
