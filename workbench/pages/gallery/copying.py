"""What the gallery says about all samples at once: privacy score, share nearer to training, and the distances."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from workbench import evaluation
from workbench.escaping import markdown
from workbench.evaluation import Neighbours
from workbench.jobs.finished import neighbours_run
from workbench.jobs.samples import SampleSet, sample_set
from workbench.records import Records
from workbench.ui import charts
from workbench.ui.formats import number
from workbench.ui.session import loaded
from workbench.workspace import Workspace

PRIVATE = "Private: stays in the room."
COPYING = ("privacy_score", "nearer_to_training")


def find_now(chosen: SampleSet, space: str) -> tuple[Records, Neighbours]:
    """The samples and their neighbours, drawn and searched on first use while the page shows how far it is."""
    bar = st.progress(0.0, text="Drawing samples and searching their nearest records …")

    def show(share: float) -> None:
        bar.progress(min(share, 1.0), text="Drawing samples and searching their nearest records …")

    neighbours = neighbours_run(
        Workspace.default(), chosen.owner, features=space, num_samples=_kept_count(chosen), progress=show, samples=chosen.id
    )
    samples = chosen.records(len(neighbours))
    bar.empty()
    return samples, neighbours


@st.cache_data(max_entries=20, show_spinner="Measuring how near the samples are …")
def copying_results(owner: str, samples: str, space: str, num_samples: int) -> list[dict[str, Any]]:
    """The measures of copying in feature space `space`, as plain values; they stay in the room."""
    workspace = Workspace.default()
    found = sample_set(workspace, owner, samples)
    records, dataset, public = found.records(num_samples), loaded(found.place, found.facts), found.public_dataset()
    names = [name for name in COPYING if evaluation.METRICS[name].refusal(dataset.facts, records) is None]
    results = evaluation.evaluate(records, dataset, public=public, metrics=names, features=space, workspace=workspace)
    return [result.model_dump() for result in results]


def copying_numbers(chosen: SampleSet, space: str, num_samples: int) -> None:
    """The share of samples nearer to training records, and the privacy score, each with what it means."""
    results = {row["name"]: row for row in copying_results(chosen.owner, chosen.id, space, num_samples)}
    nearer, score, counted = st.columns(3)
    counted.metric("Samples searched", f"{num_samples:,}")
    if row := results.get("nearer_to_training"):
        nearer.metric("Nearer to training than to held-out", number(row["value"]), help=markdown(row["note"]))
        nearer.caption(f"0.5 is what no copying gives. {_interval(row)} {PRIVATE} Features: {markdown(row['features'])}.")
    if row := results.get("privacy_score"):
        score.metric("Privacy score", number(row["value"]), help=markdown(row["note"]))
        score.caption(f"Share of samples judged unlike their nearest training record; copies score 0. {_interval(row)} {PRIVATE}")


def distance_chart(neighbours: Neighbours, key: str) -> None:
    """Distances to the nearest training and held-out record, as a histogram over all samples."""
    training, held_out = neighbours.distances[:, 0], neighbours.held_out_distances
    figure = charts.distance_histogram(training.tolist(), held_out.tolist(), f"Distance to the nearest record ({neighbours.features})")
    medians = f"median {number(float(np.median(training)))} to training, {number(float(np.median(held_out)))} to held-out records"
    table = pd.DataFrame({"sample": np.arange(len(training)), "to training (private)": training, "to held-out (private)": held_out})
    charts.show(figure, f"Histogram of the distances of {len(training)} samples to their nearest records: {medians}", table, key)


def _kept_count(chosen: SampleSet) -> int | None:
    kept = chosen.kept()
    return None if kept is None else len(kept)


def _interval(row: dict[str, Any]) -> str:
    return "" if row["interval"] is None else f"95 %: {number(row['interval'][0])} to {number(row['interval'][1])}."
