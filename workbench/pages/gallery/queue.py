"""Samples one at a time, judged by keyboard: the next one without a verdict of this reviewer, in blinded order if that is wanted."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import streamlit as st

from workbench.datasets import Dataset
from workbench.evaluation import Neighbours
from workbench.pages.gallery.cards import BLINDED, CARDS, judge, reviewer_of
from workbench.records import Records
from workbench.runs.controls import CONTROLS, Controls, among_samples, what_was_found
from workbench.runs.samples import SampleSet
from workbench.runs.verdicts import JUDGEMENTS, Judgement, Verdict, Verdicts
from workbench.ui.actions import errors_shown
from workbench.ui.formats import number

KEYS: dict[Judgement, str] = {"copied": "1", "similar": "2", "fine": "3", "unsure": "4"}
UNDO_KEY = "z"
BLIND_SEED = 31
ABOUT = "Keys: " + ", ".join(f"**{key}** {said}" for said, key in KEYS.items()) + f", **{UNDO_KEY}** undo. The next sample follows at once."
PLANTED = "gallery_planted"
ABOUT_PLANTED = (
    "Among the samples stand unmarked controls: slightly altered copies of training records, and held-out records, which no run has seen. "
    "Once you have judged all, the page says how many of the copies you called copied. No number of the run counts them."
)


@dataclass(frozen=True)
class Desk:
    """What a reviewer works on: samples, and controls behind them, by position; the verdicts of this reviewer on both."""

    verdicts: Verdicts
    sample_set: SampleSet
    reviewer: str
    num_samples: int
    controls: Controls | None

    def own_verdicts(self) -> dict[int, Verdict]:
        """This reviewer's verdicts, by position."""
        of_samples = self.verdicts.of(self.sample_set.owner, self.sample_set.id, self.reviewer)
        return of_samples | {self.num_samples + place: one for place, one in self.of_controls().items()}

    def of_controls(self) -> dict[int, Verdict]:
        """This reviewer's verdicts on controls, by their place among these."""
        return {} if self.controls is None else self.verdicts.of(self.sample_set.owner, CONTROLS, self.reviewer)

    def judge(self, position: int, said: str) -> None:
        """Keep a verdict on what stands at a position."""
        is_control = position >= self.num_samples
        place, kept_as = (position - self.num_samples, CONTROLS) if is_control else (position, self.sample_set.id)
        judge(self.verdicts, self.sample_set, place, said, "", kept_as)

    def take_back(self) -> None:
        """Undo this reviewer's latest verdict, be it on a sample or on a control."""
        kept = {
            self.sample_set.id: self.verdicts.of(self.sample_set.owner, self.sample_set.id, self.reviewer),
            CONTROLS: self.of_controls(),
        }
        latest = max((one.time, name) for name, those in kept.items() for one in those.values())[1]
        with errors_shown():
            self.verdicts.undo(self.sample_set.owner, latest, self.reviewer or None)


def queue(
    verdicts: Verdicts,
    chosen: SampleSet,
    wanted: Sequence[int],
    samples: Records,
    dataset: Dataset,
    neighbours: Neighbours,
    features: str,
) -> None:
    """How far this reviewer is, the next sample, and a button with a key for each verdict."""
    blind, plant = st.columns(2)
    blinded = blind.checkbox(
        "Blinded: shuffled, without numbers, distances and the measure of suspicion", key=BLINDED, bind="query-params",
        help="Neither the order nor a number hints at the answer. Every reviewer sees the same order.",
    )  # fmt: skip
    with_controls = plant.checkbox("With planted controls", key=PLANTED, bind="query-params", help=ABOUT_PLANTED, disabled=not blinded)
    k, name = neighbours.indices.shape[1], f"{chosen.owner} {chosen.id}"
    controls = controls_of(name, features, k, chosen) if blinded and with_controls else None
    desk = Desk(verdicts, chosen, reviewer_of("gallery_"), len(samples), controls)
    positions = [*wanted, *range(len(samples), len(samples) + len(controls or ()))]
    given = desk.own_verdicts()
    left = [position for position in in_order(positions, blinded) if position not in given]
    done = len(positions) - len(left)
    st.progress(done / max(1, len(positions)), text=f"{done:,} of {len(positions):,} judged, {len(left):,} to go")
    if controls is not None:
        samples, neighbours = samples.followed_by(controls.records), joined_neighbours(neighbours, controls.neighbours)
    if left:
        CARDS[dataset.facts.kind.name].draw(left[0], samples, dataset, neighbours, None)
    else:
        st.success("Every sample that fits the filters has your verdict.")
    with st.container(horizontal=True, gap="small"):
        for said in JUDGEMENTS:
            arguments = (left[0] if left else 0, said)
            st.button(
                said.capitalize(), key=f"gallery_queue_{said}", shortcut=KEYS[said], on_click=desk.judge, args=arguments, disabled=not left
            )
        st.button("Undo", key="gallery_queue_undo", shortcut=UNDO_KEY, on_click=desk.take_back, disabled=not given)
    st.caption(ABOUT)
    if controls is not None:
        say_what_was_found(controls, desk)


@st.cache_resource(max_entries=4, show_spinner="Planting controls …")
def controls_of(name: str, features: str, k: int, _chosen: SampleSet) -> Controls:
    """The controls of the set of samples called `name` in a feature space: the same for every reviewer."""
    del name
    return among_samples(_chosen, features, k)


def joined_neighbours(first: Neighbours, second: Neighbours) -> Neighbours:
    """The neighbours of some records and then of others, in the first ones' feature space."""
    arrays = [field.name for field in fields(Neighbours) if field.name != "features"]
    return Neighbours(first.features, **{name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in arrays})


def say_what_was_found(controls: Controls, desk: Desk) -> None:
    """What the reviewer's verdicts are worth, once all controls have one."""
    rates = what_was_found(controls, desk.of_controls())
    if rates is None:
        return
    copies, others = rates
    st.info(
        f"Controls: you called {copies.successes} of {copies.trials} planted copies copied (95 %: {number(copies.low)} to "
        f"{number(copies.high)}), and {others.successes} of {others.trials} records that nothing was trained on "
        f"({number(others.low)} to {number(others.high)})."
    )


def in_order(wanted: Sequence[int], is_blinded: bool) -> list[int]:
    """The samples as they are wanted, or shuffled by a fixed seed: any two stand in one order, whatever else is wanted."""
    if not is_blinded or not wanted:
        return list(wanted)
    places = np.random.default_rng(BLIND_SEED).random(max(wanted) + 1)
    return sorted(wanted, key=places.__getitem__)
