"""`faces`: drawn faces with attributes, nobody's, that stand where photographs of people would; `cartoons` are their public companion.

Both are drawn by a seed (`face_features` says what, `face_canvas` how), the faces painted and the cartoons flat and in ink. Every
combination of smile, glasses, hair colour and length of hair is as frequent as any other, and independent of the identity. Of `faces-70`
and `faces-90` that share of people does not smile, whatever else they have.
"""

from dataclasses import dataclass

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.drawings import cache_path, cached_records
from workbench.datasets.face_canvas import CARTOON, PAINTED, Style, paint_faces
from workbench.datasets.face_features import ATTRIBUTES, BLOCK, draw_attributes, draw_faces
from workbench.datasets.resize import Shape, check_shape, convert_channels
from workbench.errors import WorkbenchError
from workbench.records import ImageKind, Records
from workbench.workspace import Workspace

VERSION = 2  # of the drawings: in the name of a cached file
DEFAULT_SHAPE: Shape = (3, 32, 32)
SIDES = (16, 64)  # pixels
FEWEST = BLOCK
DEFAULT_NUM_RECORDS = 20_000
BATCH = 64


@dataclass(frozen=True)
class Family:
    """Drawn faces of one style: what they are called, their own random stream, and whether they count as public."""

    name: str
    style: Style
    stream: int
    is_public: bool
    unsmiling: float = 0.5


FACES = Family("faces", PAINTED, 0, is_public=False)
CARTOONS = Family("cartoons", CARTOON, 1, is_public=True)
FACES_70 = Family("faces-70", PAINTED, 2, is_public=False, unsmiling=0.7)
FACES_90 = Family("faces-90", PAINTED, 3, is_public=False, unsmiling=0.9)


def facts(family: Family, shape: tuple[int, ...] | None = None, num_records: int | None = None) -> DatasetFacts:
    """The facts about faces of this shape and number; nothing is drawn."""
    checked = check_shape(shape or DEFAULT_SHAPE, *SIDES)
    count = DEFAULT_NUM_RECORDS if num_records is None else num_records
    if count < FEWEST:
        raise WorkbenchError(f"Expected at least {FEWEST} {family.name}, one of each combination of attributes, got {count}.")
    kind = ImageKind(size=checked)
    return DatasetFacts(name=family.name, kind=kind, num_records=count, attributes=ATTRIBUTES, is_public=family.is_public)


def draw(family: Family, num_records: int, shape: Shape, seed: int = 0) -> Records:
    """Drawings uint8 (N, *shape) with their attributes and no label; the same for the same arguments."""
    rng = np.random.default_rng([VERSION, family.stream, seed, *shape, num_records])
    attributes = draw_attributes(num_records, rng)
    if family.unsmiling != 0.5:
        attributes["smile"] = (rng.permutation(num_records) >= round(family.unsmiling * num_records)).astype(np.int64)
    images = np.empty((num_records, *shape), dtype=np.uint8)
    for start in range(0, num_records, BATCH):
        part = slice(start, start + BATCH)
        chosen = draw_faces({name: values[part] for name, values in attributes.items()}, rng)
        images[part] = convert_channels(paint_faces(chosen, shape[1], shape[2], family.style), shape[0])
    return Records(images, None, attributes)


def load(
    family: Family, workspace: Workspace, shape: tuple[int, ...] | None = None, num_records: int | None = None, seed: int = 0
) -> Dataset:
    """Drawings of `shape` (C, H, W), 16x16 to 64x64, with a tenth as many again held out: the same people in other pictures."""
    known = facts(family, shape, num_records)
    whole_blocks = -(-known.num_records // BLOCK) * BLOCK
    total = whole_blocks + max(BLOCK, known.num_records // 10)
    checked = check_shape(known.shape)
    path = cache_path(family.name, VERSION, total, checked, seed, workspace.cache)
    records = cached_records(path, lambda: draw(family, total, checked, seed))
    return Dataset(known, records.take(slice(known.num_records)), records.take(slice(whole_blocks, None)))
