"""What a dataset is: records with labels in a train and a held-out split, and the public facts about it."""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from workbench.home import installation_key
from workbench.records import Records

Kind = Literal["image", "table"]


class DatasetFacts(BaseModel):
    """The public facts about a dataset: all that a plan may depend on. No record is needed to know them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Kind = "image"
    num_records: int = Field(gt=0, description="Training records; public, held fixed by the replace-one and zero-out relations.")
    shape: tuple[int, ...] = Field(description="(C, H, W) of an image; (columns,) of a table.")
    categories: tuple[int, ...] = Field(default=(), description="Number of categories per column of a table.")
    classes: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    is_public: bool = False

    @property
    def num_classes(self) -> int:
        """Number of classes; 0 if records carry no label."""
        return len(self.classes)

    @property
    def dimensions(self) -> int:
        """Number of values in one record: C H W of an image, columns of a table."""
        return int(np.prod(self.shape))


@dataclass(frozen=True)
class Dataset:
    """Training records, held-out records, and the facts that may be known without them."""

    facts: DatasetFacts
    train: Records
    held_out: Records

    @property
    def fingerprint(self) -> str:
        """16 hex digits keyed to this installation: equal for equal training records, meaningless elsewhere."""
        digest = hmac.new(installation_key(), digestmod=hashlib.sha256)
        for array in (self.train.records, self.train.labels):
            if array is not None:
                digest.update(repr((array.shape, str(array.dtype))).encode())
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:16]

    @property
    def record_hashes(self) -> np.ndarray:
        """Distinct 64-bit hashes of the training records without their labels, uint64 sorted, keyed to this installation."""
        key, records = installation_key(), np.ascontiguousarray(self.train.records)
        digests = [hashlib.blake2b(record.data, digest_size=8, key=key, person=b"record").digest() for record in records]
        return np.unique(np.frombuffer(b"".join(digests), dtype="<u8"))


def to_unit_range(images: np.ndarray) -> np.ndarray:
    """uint8 images as float32 in [-1, 1]; a fixed public scaling, never one fitted to the records."""
    return images.astype(np.float32) / 127.5 - 1.0


def to_uint8(images: np.ndarray) -> np.ndarray:
    """Float images in [-1, 1] as uint8, clamped and rounded."""
    return np.clip(np.rint((images + 1.0) * 127.5), 0, 255).astype(np.uint8)
