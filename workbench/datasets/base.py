"""What a dataset is: records with labels in a train and a held-out split, and the public facts about it."""

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.person_rows import Draws, PersonRows
from workbench.errors import WorkbenchError, choose
from workbench.records import ImageKind, Kind, Records


class Persons(BaseModel):
    """Who has the rows of a table: `column` names the person and is no feature; at most `most_rows` rows of each take part.

    `number` counts those with training rows. Which rows of the file are of one person is public, what is in them is not.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    column: str
    most_rows: int = Field(ge=1)
    number: int = Field(gt=0)


class DatasetFacts(BaseModel):
    """The public facts about a dataset: all that a plan may depend on. No record is needed to know them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Kind = Field(description="What a record is: images of a size, or rows of a table with its columns.")
    num_records: int = Field(gt=0, description="Training records; public, held fixed by the replace-one and zero-out relations.")
    classes: tuple[str, ...] = ()
    attributes: dict[str, tuple[str, ...]] = Field(default={}, description="The names of each attribute's values, in their order.")
    combined: tuple[str, ...] = Field(default=(), description="The attributes whose combinations are the classes, the last one fastest.")
    is_public: bool = False
    persons: Persons | None = Field(default=None, description="Whose rows these are, where somebody may have several; None: a row each.")

    @property
    def num_protected(self) -> int:
        """How many a bound speaks of: training records, or the persons who have them."""
        return self.num_records if self.persons is None else self.persons.number

    @property
    def unit(self) -> str:
        """Whom a bound speaks of, in words."""
        if self.persons is None:
            return "one training record"
        rows = "1 row" if self.persons.most_rows == 1 else f"{self.persons.most_rows} rows"
        return f"one person ({self.persons.column}), by at most {rows} of each"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one record: (C, H, W) of an image, (columns,) of a table."""
        return self.kind.shape

    @property
    def dimensions(self) -> int:
        """Number of values in one record: C H W of an image, columns of a table."""
        return self.kind.dimensions

    @property
    def num_classes(self) -> int:
        """Number of classes; 0 if records carry no label."""
        return len(self.classes)

    def at_size(self, size: tuple[int, int, int]) -> "DatasetFacts":
        """The facts about the same images at another size (C, H, W)."""
        ImageKind.of(self.kind)
        return self.model_copy(update={"kind": ImageKind(size=size)})

    def labelled_by(self, attribute: str) -> "DatasetFacts":
        """The facts where an attribute's values are the classes; an unknown attribute lists the choices.

        Several, as smile+hair, make a class of each combination, and stay attributes.
        """
        if names := self._several(attribute):
            combinations = product(*(self.attributes[name] for name in names))
            classes = tuple(", ".join(map(" ".join, zip(names, values, strict=True))) for values in combinations)
            return self.model_copy(update={"classes": classes, "combined": names})
        classes = choose(attribute, self.attributes, f"attribute of {self.name}")
        rest = {name: values for name, values in self.attributes.items() if name != attribute}
        return self.model_copy(update={"classes": classes, "combined": (), "attributes": rest})

    def label_of(self, facts: "DatasetFacts") -> str | None:
        """The attribute that gives these records the classes and attributes of `facts`; None where none does."""
        combined = facts.combined if set(facts.combined) <= set(self.attributes) else ()
        names = (*self.attributes, *(["+".join(combined)] if combined else []))
        wanted = (facts.classes, facts.attributes)
        return next((name for name in names if ((relabelled := self.labelled_by(name)).classes, relabelled.attributes) == wanted), None)

    def combination(self, attributes: dict[str, np.ndarray]) -> np.ndarray:
        """The class int64 (N,) of records with these values of the `combined` attributes."""
        sizes = [len(self.attributes[name]) for name in self.combined]
        return np.ravel_multi_index([attributes[name] for name in self.combined], sizes).astype(np.int64)

    def relabelled(self, records: Records, attribute: str) -> Records:
        """`records` labelled by an attribute that they carry, or that their class combines; without labels where neither tells it."""
        values = records.attributes.get(attribute)
        if values is None and attribute in self.combined and records.labels is not None:
            sizes = [len(self.attributes[name]) for name in self.combined]
            values = np.unravel_index(records.labels, sizes)[self.combined.index(attribute)].astype(np.int64)
        return replace(records, labels=values, attributes={})

    def _several(self, attribute: str) -> tuple[str, ...]:
        """The attributes that a text joins by +; none where it is one attribute's own name."""
        if attribute in self.attributes or "+" not in attribute:
            return ()
        names = tuple(attribute.split("+"))
        for name in names:
            choose(name, self.attributes, f"attribute of {self.name}")
        if len(set(names)) < len(names):
            raise WorkbenchError(f"Expected attributes that differ, got {attribute!r}. Name each once.")
        return names

    def draw(self, count: int, seed: int = 0) -> Records:
        """`count` records of this schema drawn evenly at random, with labels in turn: nobody's."""
        generator = np.random.default_rng(seed)
        records = self.kind.draw(count, generator)
        labels = np.arange(count, dtype=np.int64) % self.num_classes if self.classes else None
        return Records(records, labels, {name: generator.integers(0, len(values), count) for name, values in self.attributes.items()})

    def check(self, train: Records) -> None:
        """Refuse training records of another number, type or range than these facts say: no bound made from them holds for such."""
        expected = (self.num_records, *self.shape)
        if train.records.shape != expected:
            raise WorkbenchError(f"Expected training records of shape {expected}, got {train.records.shape}.")
        if complaint := self.kind.complaint(train.records):
            raise WorkbenchError(complaint)
        if train.labels is not None and self.classes:
            check_values("labels", train.labels, self.num_classes)
        if set(train.attributes) != set(self.attributes):
            raise WorkbenchError(f"Expected the attributes {_comma_list(self.attributes)}, got {_comma_list(train.attributes)}.")
        for name, values in self.attributes.items():
            check_values(f"values of {name}", train.attributes[name], len(values))


@dataclass(frozen=True)
class Dataset:
    """Training records, held-out records, and the facts that may be known without them.

    Where persons have several rows, `theirs` are all of the training persons', of which every run draws its own; `train` is one such draw.
    """

    facts: DatasetFacts
    train: Records
    held_out: Records
    theirs: PersonRows | None = None

    def drawn(self, randomness: Draws) -> Records:
        """The records that a run trains on: its own draw of each person's rows, all records where each is of somebody else."""
        return self.train if self.theirs is None else self.theirs.drawn(randomness)

    def labelled_by(self, attribute: str) -> "Dataset":
        """The dataset where an attribute's values, or combinations of several, are the labels, and its own labels are gone."""
        facts = self.facts.labelled_by(attribute)
        if facts.combined:
            train, held_out = (replace(part, labels=facts.combination(part.attributes)) for part in (self.train, self.held_out))
            return Dataset(facts, train, held_out)

        def labelled(records: Records) -> Records:
            rest = {name: values for name, values in records.attributes.items() if name != attribute}
            return replace(records, labels=records.attributes[attribute], attributes=rest)

        return Dataset(facts, labelled(self.train), labelled(self.held_out))

    def labelled_alike(self, facts: DatasetFacts) -> "Dataset":
        """Relabel the dataset by the attribute that `facts` uses for its classes; unchanged if they agree already."""
        name = self.facts.label_of(facts)
        return self if name is None else self.labelled_by(name)

    def fingerprint(self, key: bytes) -> str:
        """16 hex digits by a workspace's `key`: equal for equal training records with labels and attributes, meaningless elsewhere."""
        digest, train = hmac.new(key, digestmod=hashlib.sha256), self.train
        named = {"": train.records, "labels": train.labels, "present": train.present}
        named |= {f"attribute {name}": train.attributes[name] for name in sorted(train.attributes)}
        for name, array in named.items():
            if array is not None:
                digest.update(repr((name, array.shape, str(array.dtype))).encode())
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:16]

    def record_hashes(self, key: bytes) -> np.ndarray:
        """Distinct 64-bit hashes of the training records without their labels, uint64 sorted, by a workspace's `key`."""
        records = np.ascontiguousarray(self.train.records)
        digests = [hashlib.blake2b(record.data, digest_size=8, key=key, person=b"record").digest() for record in records]
        return np.unique(np.frombuffer(b"".join(digests), dtype="<u8"))


def check_values(what: str, values: np.ndarray, count: int) -> None:
    """Refuse numbers outside 0 to `count` - 1."""
    if not ((values >= 0) & (values < count)).all():
        raise WorkbenchError(f"Expected {what} 0 to {count - 1}, got {values.min()} to {values.max()}.")


def _comma_list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def to_unit_range(images: np.ndarray) -> np.ndarray:
    """uint8 images as float32 in [-1, 1]; a fixed public scaling, never one fitted to the records."""
    return images.astype(np.float32) / 127.5 - 1.0


def to_uint8(images: np.ndarray) -> np.ndarray:
    """Float images in [-1, 1] as uint8, clamped and rounded."""
    return np.clip(np.rint((images + 1.0) * 127.5), 0, 255).astype(np.uint8)
