"""PAC privacy, which is no differential privacy: the noise that samples would need, and what mutual information says."""

import numpy as np
import pandas as pd
import streamlit as st

from workbench.pages.audit.costs import of_trainings
from workbench.privacy.not_dp.pac import success_probability
from workbench.records import ImageKind
from workbench.runs.pac_audits import COVERS, PacAudit, kept_pac
from workbench.runs.pac_request import PacRequest
from workbench.runs.run import Run
from workbench.ui import charts
from workbench.ui.formats import number
from workbench.ui.jobs import needed_job
from workbench.ui.words import explained_all
from workbench.workspace import Workspace

SAYS = (
    "Mutual information bounds how much better an adversary guesses the secret once they have seen the output. It is an average over "
    "secrets: one record may be given away while the average looks small. And it does not compose as epsilon does."
)
MOST_NATS, POINTS = 2.0, 60
PRIORS = (0.01, 0.1, 0.5)


def pac_section(run: Run, prefix: str) -> None:
    """What MI says of a guess; and the job that trains on random halves and determines the noise."""
    show_meaning(prefix)
    if not isinstance(run.plan.facts.kind, ImageKind):
        st.info("The PAC audit takes images; the records of this run are rows of a table.")
        return
    draws, images = st.columns(2)
    trainings = draws.number_input("Trainings on random halves", 2, 10_000, 16, key="audit_pac_draws", bind="query-params")
    shown = images.number_input("Images of each", 2, 10_000, 64, key="audit_pac_images", bind="query-params")
    request = PacRequest(draws=int(trainings), images=int(shown))
    audit = kept_pac(Workspace.default(), run.id, request)
    if audit is None:
        st.caption(
            f"Costs {request.draws} trainings of this run's plan, each on half of the records. No training is charged to the ledger."
            + of_trainings(run, request.draws)
        )
        needed_job("pac", run.id, request.model_dump(), f"{prefix}pac_", "Train and measure")
        return
    table(audit)


def show_meaning(prefix: str) -> None:
    """The best chance of a right guess over mutual information, for three chances before; the slider's value in words."""
    nats = st.slider("Mutual information, in nats", 0.0, MOST_NATS, 0.5, 0.05, key="audit_mi", bind="query-params")
    chances = "; ".join(f"{prior:g} before: {number(success_probability(nats, prior))} at most after" for prior in PRIORS)
    about = explained_all("mutual information", "pac privacy")
    st.markdown(f"**What MI says.** At {nats:g} nats, the chance of a right guess is {chances}.", help=about)
    grid = np.linspace(0.0, MOST_NATS, POINTS)
    frame = pd.DataFrame({"nats": grid} | {f"{prior:g} before": [success_probability(float(at), prior) for at in grid] for prior in PRIORS})
    figure = charts.empty_figure("Mutual information (nats)", "Best chance of a right guess")
    for name, colour, dash in zip(list(frame.columns)[1:], charts.SERIES, charts.DASHES, strict=False):
        figure.add_scatter(x=frame["nats"].tolist(), y=frame[name].tolist(), name=name, line={"color": colour, "dash": dash, "width": 2.5})
    figure.add_vline(nats, line={"color": charts.GREY, "width": 1})
    figure.update_layout(height=300, yaxis_range=[0, 1])
    charts.show(figure, f"Best chance of a right guess over mutual information. At {nats:g} nats: {chances}", frame, f"{prefix}mi")
    st.caption(SAYS)


def table(audit: PacAudit) -> None:
    """The noise of each variant, beside the norm of the images that it would be added to."""
    rows = [
        {
            "Variant": row.name,
            "Mean norm of the noise (private)": row.mean_norm,
            "Smallest": row.low,
            "Largest": row.high,
            "Holds": "yes" if row.holds else f"no: {', '.join(row.labels)}",
        }
        for row in audit.rows
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, alt="Noise that samples need for a mutual information of 1 nat, by variant")
    st.caption(f"The images themselves have a norm of {number(audit.signal)}. {COVERS}")
