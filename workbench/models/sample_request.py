"""What a trained model is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from workbench.datasets.base import DatasetFacts

Source = Literal["model", "public"]


@dataclass(frozen=True)
class SampleRequest:
    """How many records to generate, with which labels.

    `labels` int64 (num_samples,) or None: then all classes in turn if `balanced`, and of a model that learns labels as it draws them;
    other models draw them in turn, never by private counts. `purpose` names the random stream, so that different requests to one state
    differ. `source`: "model" samples the trained model; "public" the model before it saw a private record (epsilon 0), where the method
    has one. `labelled` False asks for records without labels of a model that was trained without any.
    """

    num_samples: int
    labels: np.ndarray | None = None
    purpose: str = "samples"
    source: Source = "model"
    labelled: bool = True
    balanced: bool = False

    @classmethod
    def part(cls, facts: DatasetFacts, start: int, stop: int, classes: Sequence[int] = (), source: Source = "model") -> Self:
        """Samples `start` to `stop` of a set: of `classes` (positions, all by default) in turn, from a random stream of their own."""
        chosen = np.asarray(classes or range(facts.num_classes), dtype=np.int64)
        labels = chosen[np.arange(start, stop) % len(chosen)] if len(chosen) else None
        return cls(stop - start, labels, f"{source} samples from {start}", source)

    def label_array(self, num_classes: int) -> np.ndarray | None:
        """`labels`, or 0, 1, .., num_classes - 1 in turn; None where records carry no label."""
        return replace(self, balanced=True).asked_labels(num_classes)

    def asked_labels(self, num_classes: int) -> np.ndarray | None:
        """The labels that a model which learns them has to keep to; None where it draws its own, or records carry no label."""
        if not self.labelled:
            return None
        if self.labels is not None or num_classes == 0 or not self.balanced:
            return self.labels
        return np.arange(self.num_samples, dtype=np.int64) % num_classes
