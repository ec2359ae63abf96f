"""Several public datasets as one: glyphs+processes has their images in turn, each dataset as often as any other."""

from collections.abc import Sequence

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.records import ImageKind, Records

JOIN = "+"


def facts(parts: Sequence[DatasetFacts]) -> DatasetFacts:
    """The facts about datasets at one size taken in turn: as many of each as of the smallest; a class is the dataset an image is from."""
    names, count = tuple(part.name for part in parts), len(parts) * min(part.num_records for part in parts)
    return DatasetFacts(
        name=JOIN.join(names),
        kind=ImageKind.of(parts[0].kind),
        num_records=count,
        classes=names,
        is_public=all(part.is_public for part in parts),
    )


def in_turn(parts: Sequence[Records], count: int) -> Records:
    """`count` records, the first of each part, then the second of each; image i is of part i mod the number of parts."""
    each = -(-count // len(parts))
    stacked = np.stack([part.records[:each] for part in parts], axis=1)
    return Records(stacked.reshape(-1, *stacked.shape[2:])[:count], np.arange(count, dtype=np.int64) % len(parts))


def dataset(parts: Sequence[Dataset], num_records: int) -> Dataset:
    """Datasets at one size in turn, `num_records` of their training records together."""
    known = facts([part.facts for part in parts]).model_copy(update={"num_records": num_records})
    held_out = len(parts) * min(len(part.held_out) for part in parts)
    return Dataset(known, in_turn([part.train for part in parts], num_records), in_turn([part.held_out for part in parts], held_out))
