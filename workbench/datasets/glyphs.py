"""`glyphs`: public images of the digits 0-9, drawn by a seed, for pre-training without privacy cost.

Three quarters are written with a round pen along splines of our own (`glyph_strokes`), one quarter printed in fonts that matplotlib
ships (`glyph_fonts`); all are turned, slanted, stretched, bent and inked at random (`glyph_canvas`).

No record of any dataset shaped them: the skeletons are common ways to write the digits, the frames follow what MNIST and the UCI
digits document about themselves in public.
"""

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.drawings import cache_path, cached_records
from workbench.datasets.glyph_canvas import Layout, draw_batch
from workbench.datasets.resize import Shape, check_shape
from workbench.errors import WorkbenchError
from workbench.records import ImageKind, Records
from workbench.workspace import Workspace

VERSION = 1  # of the drawings: in the name of a cached file
DEFAULT_SHAPE: Shape = (1, 28, 28)
SIDES = (8, 64)  # pixels
FEWEST = 10  # one of each digit
DEFAULT_NUM_RECORDS = 20_000
BATCH = 64


def facts(shape: tuple[int, ...] | None = None, num_records: int | None = None) -> DatasetFacts:
    """The facts about glyphs of this shape and number; nothing is drawn."""
    checked = check_shape(shape or DEFAULT_SHAPE, *SIDES)
    count = DEFAULT_NUM_RECORDS if num_records is None else num_records
    if count < FEWEST:
        raise WorkbenchError(f"Expected at least {FEWEST} glyphs, one of each digit, got {count}.")
    return DatasetFacts(name="glyphs", kind=ImageKind(size=checked), num_records=count, classes=tuple("0123456789"), is_public=True)


def draw(num_records: int, shape: Shape, seed: int = 0) -> Records:
    """Drawings uint8 (N, *shape), each digit once in every ten, in random order; the same for the same arguments."""
    rng = np.random.default_rng([VERSION, seed, *shape, num_records])
    tens = np.tile(np.arange(10, dtype=np.int64), (-(-num_records // 10), 1))
    labels = rng.permuted(tens, axis=1).ravel()[:num_records]
    layout = Layout.of(shape[1], shape[2])
    images = np.empty((num_records, *shape), dtype=np.uint8)
    for start in range(0, num_records, BATCH):
        part = slice(start, start + BATCH)
        images[part] = draw_batch(labels[part], layout, rng)[:, None]  # grey in every channel
    return Records(images, labels)


def load(workspace: Workspace, shape: tuple[int, ...] | None = None, num_records: int | None = None, seed: int = 0) -> Dataset:
    """Public drawings of `shape` (C, H, W), 8x8 to 64x64, with a tenth as many again held out."""
    known = facts(shape, num_records)
    checked = check_shape(known.shape)
    whole_tens = -(-known.num_records // 10) * 10
    total = whole_tens + max(10, known.num_records // 10)
    path = cache_path("glyphs", VERSION, total, checked, seed, workspace.cache)
    records = cached_records(path, lambda: draw(total, checked, seed))
    return Dataset(known, records.take(slice(known.num_records)), records.take(slice(whole_tens, None)))
