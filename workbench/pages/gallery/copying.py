"""What the gallery says about all samples at once: privacy score, share nearer to training, and the distances."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from workbench.escaping import markdown, prose
from workbench.evaluation import Neighbours
from workbench.records import Records
from workbench.runs.finished import kept_copying, kept_neighbours
from workbench.runs.samples import SampleSet
from workbench.ui import charts
from workbench.ui.cards import price_of_samples
from workbench.ui.formats import number
from workbench.ui.jobs import needed_job
from workbench.ui.words import explained
from workbench.workspace import Workspace

ASKED = (
    "Nothing has been looked at yet. The search holds each sample against every training record: what it finds is private, and outside the "
    "run's guarantee."
)
PRIVATE = "Private: do not share."


def search_results(chosen: SampleSet, space: str, attribute: str | None) -> tuple[Records, Neighbours, list[dict[str, Any]]] | None:
    """The samples, their neighbours and the measures of copying; None where a job has yet to find them, which is shown."""
    workspace, kept = Workspace.default(), chosen.kept_records()
    count = chosen.default_num_samples if kept is None else len(kept)
    neighbours = kept_neighbours(workspace, chosen.owner, space, count, chosen.id)
    results = kept_copying(workspace, chosen.owner, space, count, chosen.id, attribute)
    if kept is None or neighbours is None or results is None:
        bound = chosen.bound_with(count)
        if bound is not None:
            price_of_samples(bound)
        request = {"samples": chosen.id, "num_samples": count, "features": space, "attribute": attribute}
        st.caption(ASKED)
        needed_job("neighbours", chosen.owner, request, "gallery_", "Draw samples and search their neighbours")
        return None
    return kept, neighbours, results


def copying_numbers(measured: Sequence[dict[str, Any]], num_samples: int) -> None:
    """The share of samples nearer to training records, and the privacy score, each with what it means."""
    results = {row["name"]: row for row in measured}
    nearer, score, counted = st.columns(3)
    counted.metric("Samples searched", f"{num_samples:,}")
    if row := results.get("nearer_to_training"):
        nearer.metric("Nearer to training than to held-out", number(row["value"]), help=prose(row["note"]))
        nearer.caption(f"Without copying, expect 0.5. {_interval(row)} {PRIVATE} Features: {markdown(row['features'])}.")
    if row := results.get("privacy_score"):
        score.metric("Privacy score", number(row["value"]), help=explained("privacy score", prose(row["note"])))
        score.caption(f"Share of samples judged unlike their nearest training record; copies score 0. {_interval(row)} {PRIVATE}")


def distance_chart(neighbours: Neighbours, key: str) -> None:
    """Distances to the nearest training and held-out record, as a histogram over all samples."""
    training, held_out = neighbours.distances[:, 0], neighbours.held_out_distances
    figure = charts.distance_histogram(training.tolist(), held_out.tolist(), f"Distance to the nearest record ({neighbours.features})")
    medians = f"median {number(float(np.median(training)))} to training, {number(float(np.median(held_out)))} to held-out records"
    table = pd.DataFrame({"sample": np.arange(len(training)), "to training (private)": training, "to held-out (private)": held_out})
    charts.show(figure, f"Histogram of the distances of {len(training)} samples to their nearest records: {medians}", table, key)


def _interval(row: dict[str, Any]) -> str:
    return "" if row["interval"] is None else f"95 %: {number(row['interval'][0])} to {number(row['interval'][1])}."
