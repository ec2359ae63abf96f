"""`permuted-digits`: digits whose pixels are put in one random order, so that they look like nothing that is public.

A learner that does not use the places of pixels (logistic regression, class means, moments) finds them exactly as hard as digits; what
hopes for help from public drawings finds none. They are the same people's digits: never public beside digits, and on one account with them.
"""

from dataclasses import replace

import numpy as np

from workbench.datasets import digits
from workbench.datasets.base import Dataset, DatasetFacts
from workbench.records import Records

NAME = "permuted-digits"
SEED = 0  # of the order, which is public


def facts() -> DatasetFacts:
    """Those of digits, under a name of their own; nothing is read."""
    return digits.facts().model_copy(update={"name": NAME})


def load() -> Dataset:
    """Digits with their split; every image has its pixels in the same other order."""
    known = digits.load()
    return Dataset(facts(), _permuted_records(known.train), _permuted_records(known.held_out))


def _permuted_records(records: Records) -> Records:
    images = records.records
    order = np.random.default_rng(SEED).permutation(images[0].size)
    return replace(records, records=np.ascontiguousarray(images.reshape(len(images), -1)[:, order]).reshape(images.shape))
