"""What a trained model is asked for."""

from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class SampleRequest:
    """How many records to generate, with which labels.

    `labels` int64 (num_samples,) or None: then drawn evenly over the classes, never from private counts.
    `purpose` names the random stream, so that different requests to one state differ. `source`: "model" samples the
    trained model; "public" the model before it saw a private record (epsilon 0), where the method has one.
    """

    num_samples: int
    labels: np.ndarray | None = None
    purpose: str = "samples"
    source: Literal["model", "public"] = "model"

    def label_array(self, num_classes: int) -> np.ndarray | None:
        """`labels`, or 0, 1, .., num_classes - 1 in turn; None where records carry no label."""
        if self.labels is not None or num_classes == 0:
            return self.labels
        return np.arange(self.num_samples, dtype=np.int64) % num_classes
