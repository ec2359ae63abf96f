"""`digits`: 1 797 handwritten digits of 8x8 pixels that scikit-learn ships.

Its split is a constant of the bundled file, made once with the share of every class kept. It depends on labels, so a guarantee for
digits starts after the split: it speaks of the 1 500 training records, whose number and places are public.
"""

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
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    pixels = np.rint(images * (255 / 16)).astype(np.uint8).reshape(-1, 1, 8, 8)
    train, held_out = train_test_split(np.arange(len(labels)), test_size=NUM_HELD_OUT, stratify=labels, random_state=0)
    records = Records(pixels, labels.astype(np.int64))
    return Dataset(FACTS, records.take(np.asarray(train)), records.take(np.asarray(held_out)))
