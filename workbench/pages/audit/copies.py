"""What samples repeat of the training records: clusters that give one away, nearness, and whether a class has collapsed."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from workbench.runs.copies import kept_copies
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.trained import same_records
from workbench.ui.formats import number
from workbench.ui.gallery import show_records
from workbench.ui.jobs import needed_job
from workbench.ui.session import loaded_for
from workbench.ui.words import explained
from workbench.workspace import Workspace

ASKS = (
    "A model that has memorised a record draws it again and again. Samples that lie as near to each other as copies do are put in "
    "clusters; a cluster whose middle lies at a training record has extracted it."
)
COSTS = "Costs drawing the samples, if there are none yet, and comparing each with every training record: seconds to minutes."
COLLAPSE = (
    "The collapse test: the privacy score is the share of samples that are judged unlike their nearest training record. A sampler that "
    "collapses to one value scores high without protecting anybody, and so does noise: compare each score with what redrawn labels give. "
    "Only a score below that says that neighbors are alike."
)


def copies_section(run: Run, prefix: str) -> None:
    """The job that looks, the clusters with the records that they give away, and the collapse test."""
    st.caption(ASKS)
    chosen = sample_set(Workspace.default(), run.id)
    kept = chosen.kept_records()
    count = chosen.default_num_samples if kept is None else len(kept)
    scan = kept_copies(Workspace.default(), run.id, "pixels", count)
    if scan is None:
        st.caption(COSTS)
        request = {"samples": chosen.id, "num_samples": count, "features": "pixels"}
        needed_job("copies", run.id, request, f"{prefix}copies_", "Look for copies")
        return
    show_found(scan, run)


def show_found(scan: dict[str, Any], run: Run) -> None:
    """Numbers, clusters, and the score by class."""
    near, among = scan["near"], scan["duplicates"]["among_samples"]
    extracted, nearer, alike = st.columns(3)
    extracted.metric("Training records extracted", f"{len(scan['extracted']):,}")
    nearer.metric("p of nearness to training records", number(near["p"]), help="How likely such distances are without copying.")
    alike.metric(
        "Samples in near-equal groups", f"{among['samples']:,}", help=f"{among['groups']} groups; the largest has {among['largest']}."
    )
    if scan["extracted"]:
        rows = [{name: one[name] for name in ("record", "samples", "distance")} for one in scan["extracted"]]
        records = same_records(Workspace.default(), run, loaded_for(run)).train.take(np.array([row["record"] for row in rows]))
        show_records(records, run.plan.facts, f"{len(rows)} training records that clusters of samples repeat", limit=40)
        st.dataframe(pd.DataFrame(rows), hide_index=True, alt="Extracted training records, with the size of their cluster (private)")
    else:
        st.caption(
            f"No cluster of {scan['num_samples']:,} samples lies at a training record. Another draw, or an attack by others, may find one."
        )
    if scan["privacy_score"]:
        st.markdown("**The collapse test**", help=explained("privacy score"))
        st.dataframe(pd.DataFrame(scan["privacy_score"]), hide_index=True, alt="Privacy score by class, beside that of redrawn labels")
        st.caption(COLLAPSE)
