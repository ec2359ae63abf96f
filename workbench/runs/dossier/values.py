"""A dossier as plain values: everything that its page shows, so that the page can be made anew from them and compared."""

import hashlib
import json
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict

from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.accounting.profile import PrivacyProfile
from workbench.privacy.accounting.values import PrivacyValue
from workbench.runs.release.card import PrivacyCard
from workbench.serialization import jsonable

FORMAT = "dp-diffusion-workbench dossier 1"
Audience = Literal["outside", "room"]
PLAIN = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class LedgerRow(BaseModel):
    """One run on the same records: when (days alone), what it spent, stage by stage, and the epsilon that this alone comes to."""

    model_config = PLAIN

    run: str
    method: str
    purpose: str
    opened: str
    closed: str | None
    public: str
    spent: tuple[PlannedStage, ...]
    alone: PrivacyValue


class Measure(BaseModel):
    """A measure of the samples; in a dossier that may leave, a value whose mark keeps it in the room is None."""

    model_config = PLAIN

    name: str
    title: str
    unit: str
    better: str
    num_samples: int
    value: float | None
    low: float | None
    high: float | None
    ceiling: float | None
    epsilon_zero: float | None
    releasable: bool


class Finding(BaseModel):
    """What an attack or an audit found, in words, and how it was asked."""

    model_config = PLAIN

    name: str
    words: str


class GalleryCard(BaseModel):
    """A sample beside its nearest training records and its nearest held-out one, each as HTML of ours (a picture, or a row's text)."""

    model_config = PLAIN

    sample: int
    suspicion: float
    verdict: str
    generated: str
    training: tuple[str, ...]
    distances: tuple[float, ...]
    held_out: str
    held_out_distance: float


class Room(BaseModel):
    """What may not leave the room: verdicts by set of samples, findings of attacks, the gallery of the most suspicious samples."""

    model_config = PLAIN

    verdicts: dict[str, dict[str, int]]
    reviewers: tuple[str, ...]
    findings: tuple[Finding, ...]
    features: str
    gallery: tuple[GalleryCard, ...]


class Dossier(BaseModel):
    """What a data protection officer signs of one run.

    `card` is the export's, with claim, bound and lower bound. `audit_ceiling`: what that audit could have said at most. `best_attack`: the
    largest true-positive rate that the profile leaves, by false-positive rate. `num_protected`: the records, or persons, that the bound
    speaks of. `files`: SHA-256 of the export's files. `answers`: what
    people have said. `room` is None in a dossier that may leave.
    """

    model_config = PLAIN

    format: str
    audience: Audience
    made: str
    title: str
    source: str
    preset: str
    config: dict[str, Any]
    kind: str
    num_protected: int
    classes: tuple[str, ...]
    card: PrivacyCard
    audit_ceiling: float | None
    profile: PrivacyProfile
    best_attack: dict[str, float]
    ledger: tuple[LedgerRow, ...]
    measures: tuple[Measure, ...]
    withheld: int
    cautions: tuple[str, ...]
    files: dict[str, str]
    answers: dict[str, str]
    room: Room | None

    @property
    def text(self) -> str:
        """All values as one line of JSON, the same for equal dossiers."""
        return json.dumps(jsonable(self), ensure_ascii=True, allow_nan=False)

    def as_read(self) -> Self:
        """The dossier as whoever reads its values has it: of JSON's types and order alone."""
        return self.model_validate(json.loads(self.text))

    @property
    def digest(self) -> str:
        """SHA-256 of all values: it stands on the page, so that a signed print can be told from another."""
        return hashlib.sha256(self.text.encode()).hexdigest()
