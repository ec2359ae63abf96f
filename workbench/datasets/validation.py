"""Datasets called `...-validation`: the training records alone, the last of them taken out to choose settings on.

The test records have no part in it, so whoever chooses here may judge there. Those taken out are not trained on and not protected: a
choice that they decide tells of them. The others are the same people's records as those of the whole dataset: both are on one
account of the ledger.
"""

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.splits import held_out_count


def facts(whole: DatasetFacts, fraction: float) -> DatasetFacts:
    """Those of the whole dataset, less this fraction of its training records."""
    count = whole.num_records - held_out_count(whole.num_records, fraction)
    return whole.model_copy(update={"name": f"{whole.name}-validation", "num_records": count})


def split(whole: Dataset, fraction: float) -> Dataset:
    """The last training records held out, this fraction of them, in the place of the test records."""
    known = facts(whole.facts, fraction)
    return Dataset(known, whole.train.take(slice(known.num_records)), whole.train.take(slice(known.num_records, None)))
