"""Canaries of a one-run audit: records that take slots of a dataset and join by coin flips, so that its number stays as planned.

Steinke, Nasr and Jagielski (2023), Algorithm 1, with null records in the place of those that do not join.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, Self, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.errors import WorkbenchError
from workbench.privacy.attacks.audit import AuditResult, f_dp_one_run, one_run
from workbench.records import ImageKind, Records
from workbench.seeds import Seed, drawn_seed

CanaryKind = Literal["labels", "blank", "patterns"]
KINDS: tuple[CanaryKind, ...] = get_args(CanaryKind)
SLOTS, COINS, CONTENTS = 1, 2, 3  # streams of a seed


class AuditDesign(BaseModel):
    """All that an audit fixes before training: which canaries, how many, how many guesses, and the seed of slots, coins and contents,
    drawn where none is given: audits that share a seed share their coins.

    `labels`: the records of the slots themselves under random other labels; `blank`: images of one grey each, evenly from black to white
    (above 256 of them some are alike, with labels drawn apart); `patterns`: records drawn evenly from all that there can be. Of
    `num_guesses` one half says "joined", of the canaries with the smallest scores, the other "stayed out", of those with the largest: the
    rule is fixed whatever the scores are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_canaries: int = Field(ge=2, description="How many canaries there are; a coin decides whether each joins the training.")
    kind: CanaryKind = Field(default="patterns", description="What a canary is: patterns, labels or blank.")
    num_guesses: int = Field(default=0, ge=0, description="0 is a half of the canaries, even.")
    confidence: float = Field(default=0.95, gt=0.0, lt=1.0, description="With which the lower bound holds.")
    seed: Seed = Field(default_factory=drawn_seed, description="Of slots, coins and contents; drawn if it is not given.")

    @model_validator(mode="after")
    def _guesses_can_be_made(self) -> Self:
        if self.num_guesses % 2 or self.num_guesses > self.num_canaries:
            raise ValueError(f"Expected an even number of guesses, at most {self.num_canaries}, got {self.num_guesses}")
        return self

    @property
    def guesses(self) -> int:
        """How many canaries are guessed."""
        return self.num_guesses or max(2, self.num_canaries // 4 * 2)

    @property
    def joined(self) -> np.ndarray:
        """The coins: which canaries are in training, bool (num_canaries,)."""
        return self._stream(COINS).random(self.num_canaries) < 0.5

    def slots(self, num_records: int) -> np.ndarray:
        """The positions of the canaries among the training records, int64 (num_canaries,), each once."""
        if self.num_canaries > num_records:
            raise WorkbenchError(f"Expected at most {num_records} canaries, one a training record, got {self.num_canaries}.")
        return self._stream(SLOTS).permutation(num_records)[: self.num_canaries]

    def canaries(self, dataset: Dataset) -> Records:
        """What stands in the slots, whether it joins or not; refused where the dataset has no such canaries."""
        slots = self.slots(len(dataset.train))
        return CONTENTS_OF[self.kind](dataset.facts, dataset.train.take(slots), self._stream(CONTENTS))

    def applied_to(self, dataset: Dataset) -> Dataset:
        """The dataset with canaries in their slots; those whose coin fell on tails are null records."""
        slots, canaries, train = self.slots(len(dataset.train)), self.canaries(dataset), dataset.train
        records, present = train.records.copy(), train.mask.copy()
        records[slots], present[slots] = canaries.records, self.joined
        labels = None if train.labels is None or canaries.labels is None else train.labels.copy()
        if labels is not None and canaries.labels is not None:
            labels[slots] = canaries.labels
        return replace(dataset, train=Records(records, labels, train.attributes, present), theirs=None)

    def judged_guesses(self, scores: np.ndarray, delta: float) -> tuple[int, AuditResult, AuditResult]:
        """Correct guesses by scores float (num_canaries,), small for a member, and the one-run and f-DP lower bounds at `delta`."""
        if scores.shape != (self.num_canaries,) or not np.isfinite(scores).all():
            raise WorkbenchError(f"Expected {self.num_canaries} finite scores, got {scores.shape}, {np.isfinite(scores).sum()} finite.")
        order, half = np.argsort(scores, kind="stable"), self.guesses // 2
        correct = int(self.joined[order[:half]].sum() + (~self.joined[order[-half:]]).sum())
        counts = (self.num_canaries, self.guesses, correct, delta, self.confidence)
        return correct, one_run(*counts), f_dp_one_run(*counts)

    def _stream(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, purpose])


def _other_labels(facts: DatasetFacts, records: Records, draw: np.random.Generator) -> Records:
    if records.labels is None or facts.num_classes < 2:
        raise WorkbenchError(f"Expected records with labels for canaries of kind 'labels', and {facts.name} has none. Choose patterns.")
    return replace(records, labels=(records.labels + draw.integers(1, facts.num_classes, len(records))) % facts.num_classes)


def _blank(facts: DatasetFacts, records: Records, draw: np.random.Generator) -> Records:
    ImageKind.of(facts.kind)
    greys = np.linspace(0, 255, len(records)).round().astype(np.uint8)
    images = np.broadcast_to(draw.permutation(greys).reshape(-1, 1, 1, 1), records.records.shape)
    return replace(records, records=images.copy(), labels=_even_labels(facts, records, draw))


def _patterns(facts: DatasetFacts, records: Records, draw: np.random.Generator) -> Records:
    return replace(records, records=facts.kind.draw(len(records), draw), labels=_even_labels(facts, records, draw))


def _even_labels(facts: DatasetFacts, records: Records, draw: np.random.Generator) -> np.ndarray | None:
    return None if records.labels is None else draw.integers(0, max(facts.num_classes, 1), len(records))


CONTENTS_OF: dict[CanaryKind, Callable[[DatasetFacts, Records, np.random.Generator], Records]] = {
    "labels": _other_labels,
    "blank": _blank,
    "patterns": _patterns,
}
