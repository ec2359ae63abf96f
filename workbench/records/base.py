"""Records in a dataset's own schema, and what every kind of record can do."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from workbench.errors import WorkbenchError


@dataclass(frozen=True)
class Records:
    """Records in a dataset's own schema, with labels and attributes by position.

    `records` is uint8 (N, C, H, W) for images, int64 (N, columns) for tables; `labels` int64 (N,) or None; each attribute
    int64 (N,). `present` is bool (N,), or None where all are: a record that is not present is the null record, which counts
    in the number of records and in every draw of a batch, and adds nothing to any release.
    """

    records: np.ndarray
    labels: np.ndarray | None = None
    attributes: dict[str, np.ndarray] = field(default_factory=dict)
    present: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.records)

    @property
    def mask(self) -> np.ndarray:
        """Which records are present, bool (N,)."""
        return np.ones(len(self), dtype=bool) if self.present is None else self.present

    def take(self, index: np.ndarray | slice) -> "Records":
        """The records at `index`, with all that belongs to each."""
        return Records(
            self.records[index],
            None if self.labels is None else self.labels[index],
            {name: values[index] for name, values in self.attributes.items()},
            None if self.present is None else self.present[index],
        )

    def without(self, index: int | np.ndarray) -> "Records":
        """The same records, those at `index` made null."""
        present = self.mask.copy()
        present[index] = False
        return replace(self, present=present)

    @classmethod
    def joined(cls, parts: "Sequence[Records]") -> "Records":
        """One part after another; labels and attributes only where all have them, and masks where one has."""
        shared = [name for name in parts[0].attributes if all(name in part.attributes for part in parts)]
        labels = [part.labels for part in parts if part.labels is not None]
        return cls(
            np.concatenate([part.records for part in parts]),
            np.concatenate(labels) if len(labels) == len(parts) else None,
            {name: np.concatenate([part.attributes[name] for part in parts]) for name in shared},
            None if all(part.present is None for part in parts) else np.concatenate([part.mask for part in parts]),
        )

    def followed_by(self, other: "Records") -> "Records":
        """These records and then `other`; labels and attributes only where both have them."""
        return self.joined([self, other])


class RecordKind(BaseModel, ABC):
    """What a record of a dataset is: a frozen value of public facts that checks, draws, compares, shows and keeps such records.

    A class of it has a field `name` of one literal value, by which KINDS, methods and measures know it. Arrays of records are as
    `Records.records`: the kind's own type, the number of records first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    noun: ClassVar[str]  # several records in words
    feature_label: ClassVar[str]  # what `features` is called where records are compared in it
    array_name: ClassVar[str]  # the records in a file of arrays
    preview_file: ClassVar[str]  # the file that `preview` fills

    @model_serializer(mode="wrap")
    def _with_name(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The name stays where defaults are left out: by it the kind is read again."""
        return {"name": type(self).model_fields["name"].default, **dump(self)}

    @classmethod
    def of(cls, kind: "RecordKind") -> Self:
        """`kind`, which has to be of this class: for what takes this one alone."""
        if not isinstance(kind, cls):
            raise WorkbenchError(f"Expected {cls.noun}, got {kind.noun}.")
        return kind

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of one record."""

    @property
    def dimensions(self) -> int:
        """Number of values in one record."""
        return int(np.prod(self.shape))

    @abstractmethod
    def complaint(self, records: np.ndarray) -> str:
        """What is wrong with an array of the right shape as records of this kind, in a sentence or two; empty if nothing is."""

    @abstractmethod
    def draw(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """`count` records drawn evenly at random from all that there can be."""

    @abstractmethod
    def features(self, records: np.ndarray) -> np.ndarray:
        """Records as float32 vectors (N, D) in [0, 1], scaled by public constants alone."""

    @abstractmethod
    def preview(self, records: Records, classes: Sequence[str]) -> bytes:
        """A few records as the content of a file that people look at, with their classes where it has room for them."""

    @abstractmethod
    def html(self, record: np.ndarray, text: str) -> str:
        """One record and `text`, which is HTML already, as the content of a cell of an HTML table."""

    @abstractmethod
    def to_arrays(self, records: np.ndarray) -> dict[str, np.ndarray]:
        """Records as they stand in a file of arrays that any tool reads: under `array_name`, with what explains them."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """The records that `to_arrays` gave."""
