"""Samples one at a time, judged by keyboard: the next one without a verdict of this reviewer, in blinded order if that is wanted."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from workbench.datasets import Dataset
from workbench.evaluation import Neighbours
from workbench.pages.gallery.cards import BLINDED, CARDS, judge, reviewer_of, take_back
from workbench.records import Records
from workbench.runs.samples import SampleSet
from workbench.runs.verdicts import JUDGEMENTS, Judgement, Verdicts

KEYS: dict[Judgement, str] = {"copied": "1", "similar": "2", "fine": "3", "unsure": "4"}
UNDO_KEY = "z"
BLIND_SEED = 31
ABOUT = "Keys: " + ", ".join(f"**{key}** {said}" for said, key in KEYS.items()) + f", **{UNDO_KEY}** undo. The next sample follows at once."


def queue(verdicts: Verdicts, chosen: SampleSet, wanted: Sequence[int], samples: Records, dataset: Dataset, neighbours: Neighbours) -> None:
    """How far this reviewer is, the next sample, and a button with a key for each verdict."""
    st.checkbox(
        "Blinded: shuffled, and without the measure of suspicion", key=BLINDED, bind="query-params",
        help="So that neither order nor number tells what to say. Every reviewer sees the same order.",
    )  # fmt: skip
    reviewer = reviewer_of("gallery_")
    mine = verdicts.of(chosen.owner, chosen.id, reviewer)
    left = [index for index in in_order(wanted, bool(st.session_state[BLINDED])) if index not in mine]
    st.progress(1 - len(left) / max(1, len(wanted)), text=f"{len(wanted) - len(left):,} of {len(wanted):,} judged, {len(left):,} to go")
    if left:
        CARDS[dataset.facts.kind.name].draw(left[0], samples, dataset, neighbours, None)
    else:
        st.success("Every sample that fits the filters has your verdict.")
    with st.container(horizontal=True, gap="small"):
        for said in JUDGEMENTS:
            arguments = (verdicts, chosen, left[0] if left else 0, said, "")
            st.button(
                said.capitalize(), key=f"gallery_queue_{said}", shortcut=KEYS[said], on_click=judge, args=arguments, disabled=not left
            )
        undo = (verdicts, chosen, reviewer or None)
        st.button("Undo", key="gallery_queue_undo", shortcut=UNDO_KEY, on_click=take_back, args=undo, disabled=not mine)
    st.caption(ABOUT)


def in_order(wanted: Sequence[int], is_blinded: bool) -> list[int]:
    """The samples as they are wanted, or shuffled by a fixed seed."""
    if not is_blinded:
        return list(wanted)
    return np.random.default_rng(BLIND_SEED).permutation(np.sort(np.array(wanted, dtype=np.int64))).tolist()
