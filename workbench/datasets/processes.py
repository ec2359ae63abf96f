"""`processes`: public images of no things at all, drawn by a seed, for private images that no public ones are like.

Seven families in equal shares (`process_families`), which are the classes. They follow what is said in public of pictures in general;
no record of any dataset shaped them. Images of such kinds teach features without a photograph (Baradad et al. 2021, "Learning to
see by looking at noise"), from which differentially private training gains (Tang et al. 2023).
"""

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.drawings import cache_path, cached_records
from workbench.datasets.process_canvas import Canvas
from workbench.datasets.process_families import FAMILIES
from workbench.datasets.resize import Shape, check_shape
from workbench.errors import WorkbenchError
from workbench.records import ImageKind, Records
from workbench.workspace import Workspace

VERSION = 1  # of the drawings: in the name of a cached file
DEFAULT_SHAPE: Shape = (1, 28, 28)
SIDES = (8, 128)  # pixels
FEWEST = len(FAMILIES)  # one of each
DEFAULT_NUM_RECORDS = 20_000
EACH = 16  # images of each family in a block, which is drawn by random numbers of its own


def facts(shape: tuple[int, ...] | None = None, num_records: int | None = None) -> DatasetFacts:
    """The facts about processes of this shape and number; nothing is drawn."""
    checked = check_shape(shape or DEFAULT_SHAPE, *SIDES)
    count = DEFAULT_NUM_RECORDS if num_records is None else num_records
    if count < FEWEST:
        raise WorkbenchError(f"Expected at least {FEWEST} processes, one of each family, got {count}.")
    return DatasetFacts(name="processes", kind=ImageKind(size=checked), num_records=count, classes=tuple(FAMILIES), is_public=True)


def draw_block(shape: Shape, seed: int, block: int) -> Records:
    """Block number `block` of images uint8 (EACH a family, *shape): each family once in every seven, in random order."""
    rng = np.random.default_rng([VERSION, seed, *shape, block])
    labels = rng.permuted(np.tile(np.arange(FEWEST, dtype=np.int64), (EACH, 1)), axis=1).ravel()
    canvas = Canvas(EACH, shape, rng)
    images = np.empty((EACH * FEWEST, *shape), dtype=np.uint8)
    for label, family in enumerate(FAMILIES.values()):
        images[labels == label] = np.rint(255 * np.clip(family(canvas), 0, 1))
    return Records(images, labels)


def draw(num_records: int, shape: Shape, seed: int = 0) -> Records:
    """Images uint8 (N, *shape) with their families; the same for the same shape and seed, the first ones whatever their number."""
    blocks = [draw_block(shape, seed, block) for block in range(-(-num_records // (EACH * FEWEST)))]
    images, labels = (np.concatenate([getattr(block, part) for block in blocks])[:num_records] for part in ("records", "labels"))
    return Records(images, labels)


def load(workspace: Workspace, shape: tuple[int, ...] | None = None, num_records: int | None = None, seed: int = 0) -> Dataset:
    """Public images of `shape` (C, H, W), 8x8 to 128x128, with a tenth as many again held out."""
    known = facts(shape, num_records)
    checked = check_shape(known.shape)
    whole = -(-known.num_records // FEWEST) * FEWEST
    total = whole + max(FEWEST, known.num_records // 10)
    path = cache_path("processes", VERSION, total, checked, seed, workspace.cache)
    records = cached_records(path, lambda: draw(total, checked, seed))
    return Dataset(known, records.take(slice(known.num_records)), records.take(slice(whole, None)))
