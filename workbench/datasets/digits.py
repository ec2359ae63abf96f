"""`digits`: 1 797 handwritten digits of 8x8 pixels that scikit-learn ships.

Its split is a constant of the bundled file, made once with the share of every class kept. It depends on labels, so a guarantee for
digits starts after the split: it speaks of the 1 500 training records, whose number and places are public.
"""

from functools import cache

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.records import ImageKind, Records

NUM_TRAIN, NUM_HELD_OUT = 1_500, 297
FACTS = DatasetFacts(name="digits", kind=ImageKind(size=(1, 8, 8)), num_records=NUM_TRAIN, classes=tuple("0123456789"))


def facts() -> DatasetFacts:
    """The published facts about the bundled records; nothing is read."""
    return FACTS


def load() -> Dataset:
    """All records, stratified with seed 0 into 1 500 training and 297 held-out ones.

    A pixel counts 0..16 of a 4x4 block and becomes uint8 by the public factor 255/16.
    """
    pixels, labels, train, held_out = _file_and_split()
    records = Records(pixels, labels)
    return Dataset(FACTS, records.take(train), records.take(held_out))


@cache
def _file_and_split() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pixels, labels, places of training and of held-out records; each load takes copies of them, and the file is read once."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    pixels = np.rint(images * (255 / 16)).astype(np.uint8).reshape(-1, 1, 8, 8)
    train, held_out = train_test_split(np.arange(len(labels)), test_size=NUM_HELD_OUT, stratify=labels, random_state=0)
    return pixels, labels.astype(np.int64), np.asarray(train), np.asarray(held_out)
