"""Records in a dataset's own schema."""

from dataclasses import dataclass, field, replace

import numpy as np


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

    def followed_by(self, other: "Records") -> "Records":
        """These records and then `other`; labels and attributes only where both have them."""
        labels = None if self.labels is None or other.labels is None else np.concatenate([self.labels, other.labels])
        shared = [name for name in self.attributes if name in other.attributes]
        return Records(
            np.concatenate([self.records, other.records]),
            labels,
            {name: np.concatenate([self.attributes[name], other.attributes[name]]) for name in shared},
            None if self.present is None and other.present is None else np.concatenate([self.mask, other.mask]),
        )
