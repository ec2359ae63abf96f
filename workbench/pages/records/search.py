"""One record looked for in a finished run: its nearest samples, its score of membership, and what the bound allows to find out."""

from typing import get_args

import numpy as np
import pandas as pd
import streamlit as st

from workbench.datasets import Dataset
from workbench.evaluation import FEATURES
from workbench.evaluation.nearest_samples import NearestSamples, Side
from workbench.pages.records.finding import find_section
from workbench.records import Records
from workbench.runs.memberships import kept_scores
from workbench.runs.nearest_samples import kept_nearest_samples
from workbench.runs.run import Run
from workbench.runs.samples import SampleSet
from workbench.ui.bound_words import NO_LIMIT, sentences
from workbench.ui.cards import price_of_samples, protects
from workbench.ui.formats import number
from workbench.ui.gallery import show_records
from workbench.ui.jobs import needed_job
from workbench.ui.runs import set_choice, show_cautions
from workbench.ui.session import loaded_for
from workbench.ui.words import explained
from workbench.workspace import Workspace

SIDES: tuple[Side, ...] = get_args(Side)
PIXELS = 96
COSTS = (
    "Nothing has been searched yet. The search holds each training and held-out record against every sample, in seconds to minutes: what "
    "it finds is private. Nothing is trained, and nothing is charged to the ledger."
)
AUDITED = "This run has canaries: some of its training records took no part, and others stood in their places."
READ = (
    "Of a record that left no trace in the samples, any share is as likely as another. A large one is no proof: of a hundred such records "
    "one is nearer than 99 % of the others by chance. Private."
)
NOT_ATTACKED = (
    "No scores of single records are kept of this run. Take some on the Audit page (Membership); the attack `quantile` keeps none."
)
ANYBODY = (
    "What the bound allows anybody to find out from samples and weights, whichever record this is. It does not cover this page, which "
    "looks at the records themselves."
)


def search_section(run: Run, prefix: str) -> None:
    """A record of the reader's choice and all that is known of it; the search for samples is begun by a button."""
    chosen = set_choice(f"{prefix}set", run.id)
    dataset = chosen.same_records(loaded_for(run))
    if run.audit is not None:
        st.info(AUDITED)
    find_section(dataset, prefix)
    side, record, space = choices(dataset, prefix)
    records = dataset.train if side == "training" else dataset.held_out
    own, near = st.columns([1, 3])
    with own:
        st.markdown(f"**{side.capitalize()} record {record}**")
        show_records(records.take(np.array([record])), dataset.facts, f"{side.capitalize()} record {record}", columns=1, pixels=PIXELS)
    with near:
        st.markdown("**Its nearest samples**")
        result = search_results(chosen, space, prefix)
        if result is not None:
            show_cautions(chosen.cautions)
            nearest_samples(*result, side, record, dataset)
    st.header("Score of membership", anchor=False)
    membership(run, side, record)
    st.header("What anybody can find out", anchor=False, help=explained("bound"))
    bound_words(run)


def choices(dataset: Dataset, prefix: str) -> tuple[Side, int, str]:
    """Which side, which record of it, and where distances are taken."""
    which, place, feature = st.columns(3)
    first, key = SIDES[0], f"{prefix}side"
    side: Side = which.segmented_control("Records", SIDES, default=first, key=key, bind="query-params", required=True) or first
    last = len(dataset.train if side == "training" else dataset.held_out) - 1
    record = place.number_input(
        "Number", 0, last, 0, step=1, key=f"{prefix}number", bind="query-params", help=f"By its place, from 0 to {last:,}."
    )
    kind = dataset.facts.kind
    spaces = [name for name, entry in FEATURES.items() if kind.name in entry.kinds]

    def called(space: str) -> str:
        """The records themselves are compared under their kind's own name."""
        return kind.feature_label if space == "pixels" else space

    return side, int(record), feature.selectbox("Feature space", spaces, key=f"{prefix}features", bind="query-params", format_func=called)


def search_results(chosen: SampleSet, space: str, prefix: str) -> tuple[Records, NearestSamples] | None:
    """The samples and what was found; None where a job has yet to search, which is shown."""
    kept = chosen.kept_records()
    count = chosen.default_num_samples if kept is None else len(kept)
    nearest = kept_nearest_samples(Workspace.default(), chosen.owner, space, count, chosen.id)
    if kept is not None and nearest is not None:
        return kept, nearest
    if (bound := chosen.bound_with(count)) is not None:
        price_of_samples(bound)
    st.caption(COSTS)
    request = {"samples": chosen.id, "num_samples": count, "features": space}
    needed_job("nearest-samples", chosen.owner, request, f"{prefix}search_", "Search the nearest samples of every record")
    return None


def nearest_samples(samples: Records, nearest: NearestSamples, side: Side, record: int, dataset: Dataset) -> None:
    """The nearest samples with their distances, and how near that is beside records that the run never saw."""
    indices, distances = nearest.of(side, record)
    show_records(
        samples.take(indices),
        dataset.facts,
        f"The {len(indices)} samples nearest to {side} record {record}",
        columns=len(indices),
        pixels=PIXELS,
    )
    frame = pd.DataFrame({"sample": indices, f"distance, {nearest.features} (private)": distances})
    st.dataframe(frame, hide_index=True, alt=f"Distances of the {len(indices)} nearest samples")
    others = len(dataset.held_out) - (side == "held-out")
    share = number(100 * nearest.nearer_than(side, record))
    st.markdown(
        f"The nearest of {len(samples):,} samples lies at {number(float(distances[0]))}: **nearer than that of {share} %** of {others:,} "
        "held-out records, which the run never saw."
    )
    st.caption(READ)


def membership(run: Run, side: Side, record: int) -> None:
    """What each attack gave the record, beside held-out ones."""
    kept = kept_scores(Workspace.default(), run.id)
    if not kept:
        st.caption(NOT_ATTACKED)
        return
    values = [(scores, scores.of(side, record)) for scores in kept]
    rows = [
        {
            "attack": scores.score,
            "score (private)": number(value[0]) if value else "not judged",
            "smaller than of held-out records (private)": f"{number(100 * value[1])} %" if value else "–",
            "records judged": len(scores.training) + len(scores.held_out),
        }
        for scores, value in values
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, alt=f"Scores of membership of {side} record {record}")
    st.caption("A small score says that the record took part; attacks judge a random part of the records. Private.")


def bound_words(run: Run) -> None:
    """Whom the bound protects, and its sentences; that nothing is limited where there is none."""
    st.caption(protects(run.plan.facts))
    if not run.bound.is_finite:
        st.markdown(NO_LIMIT)
        return
    st.markdown(f"{ANYBODY} At epsilon {number(run.bound.epsilon)}, delta {number(run.bound.delta)}:")
    st.markdown("\n".join(f"- {sentence}" for sentence in sentences(run.bound.epsilon, run.bound.delta)))
