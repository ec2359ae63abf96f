"""The registry of datasets: of each one sentence, whose records it has, its facts and its records."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from workbench.datasets import (
    adult,
    breast_cancer,
    celeba,
    cifar,
    digits,
    faces,
    glyphs,
    idx,
    imagenet,
    patients,
    permuted,
    processes,
    validation,
)
from workbench.datasets.base import Dataset, DatasetFacts
from workbench.errors import WorkbenchError
from workbench.workspace import Workspace


@dataclass(frozen=True)
class DatasetEntry:
    """A named dataset: one sentence, whose records it has, its facts without its records, its records, and whether they are here.

    `facts` refuses a dataset of which only files that are not here tell how many records there are. `records_of` is the name of the
    dataset whose records these are, its own or that of another entry with the same people's: no entry is public beside another of the
    same, and runs on either are on one account of the ledger.
    `draw(workspace, shape, num_records, seed)` is for datasets made or read to order, shape and number None for their defaults;
    `sides` bounds height and width, `fewest` the number drawn, which `is_unlimited` where they are made; `is_fetched` is False where
    files that are not here are asked for and not downloaded. `public_companion` names a public dataset of the same
    classes: features that measures compare in come from it, for every method alike. `folders(root)` are the places below a data folder
    where its files may lie: what lies there is these people's too.
    """

    summary: str
    records_of: str
    facts: Callable[[Workspace], DatasetFacts]
    load: Callable[[Workspace], Dataset]
    is_local: Callable[[Workspace], bool] = lambda _workspace: True
    draw: Callable[[Workspace, tuple[int, ...] | None, int | None, int], Dataset] | None = None
    sides: tuple[int, int] = (1, 4096)
    fewest: int = 1
    is_unlimited: bool = False
    is_fetched: bool = True
    public_companion: str | None = None
    folders: Callable[[Path], list[Path]] = lambda _root: []

    def known_facts(self, workspace: Workspace) -> DatasetFacts | None:
        """The facts; None where its files alone tell them, and are not here."""
        try:
            return self.facts(workspace)
        except WorkbenchError:
            if self.is_local(workspace):
                raise
            return None


def _drawn_faces(summary: str, records_of: str, family: faces.Family, public_companion: str | None = None) -> DatasetEntry:
    draw = partial(faces.load, family)
    return DatasetEntry(
        summary,
        records_of,
        lambda _: faces.facts(family),
        draw,
        draw=draw,
        sides=faces.SIDES,
        fewest=faces.FEWEST,
        is_unlimited=True,
        public_companion=public_companion,
    )


def _drawn_patients(summary: str, records_of: str, form: patients.Form) -> DatasetEntry:
    draw = partial(patients.load, form)
    return DatasetEntry(summary, records_of, lambda _: patients.facts(form), draw, draw=draw, fewest=patients.FEWEST, is_unlimited=True)


def _for_choosing(whole: DatasetEntry, fraction: float) -> DatasetEntry:
    return DatasetEntry(
        f"Training records alone, to choose settings: the last 1 in {1 / fraction:.0f} is held out, unprotected. {whole.summary}",
        whole.records_of,
        lambda workspace: validation.facts(whole.facts(workspace), fraction),
        lambda workspace: validation.split(whole.load(workspace), fraction),
        whole.is_local,
        public_companion=whole.public_companion,
        folders=whole.folders,
    )


DATASETS: dict[str, DatasetEntry] = {
    "digits": DatasetEntry(
        "1 797 handwritten digits of 8x8 pixels, bundled with scikit-learn.",
        "digits",
        lambda _: digits.facts(),
        lambda _: digits.load(),
        public_companion="glyphs",
    ),
    "mnist": DatasetEntry(
        "70 000 handwritten digits of 28x28 pixels.",
        "mnist",
        partial(idx.facts, idx.MNIST),
        partial(idx.load, idx.MNIST),
        partial(idx.is_local, idx.MNIST),
        public_companion="glyphs",
        folders=partial(idx.folders, idx.MNIST),
    ),
    "fashion-mnist": DatasetEntry(
        "70 000 pictures of clothes of 28x28 pixels.",
        "fashion-mnist",
        partial(idx.facts, idx.FASHION_MNIST),
        partial(idx.load, idx.FASHION_MNIST),
        partial(idx.is_local, idx.FASHION_MNIST),
        folders=partial(idx.folders, idx.FASHION_MNIST),
    ),
    "cifar-10": DatasetEntry(
        "60 000 colour pictures of ten classes of 32x32 pixels.",
        "cifar-10",
        cifar.facts,
        cifar.load,
        cifar.is_local,
        folders=cifar.folders,
    ),
    "celeba": DatasetEntry(
        "182 732 faces with attributes, read at 64x64 pixels; its test part is held out.",
        "celeba",
        partial(celeba.facts, celeba.PARTED),
        partial(celeba.load, celeba.PARTED),
        celeba.is_local,
        is_fetched=False,
        folders=celeba.folders,
    ),
    "celeba-all": DatasetEntry(
        "All 202 599 faces of celeba as training records; nothing is held out.",
        "celeba",
        partial(celeba.facts, celeba.EVERYONE),
        partial(celeba.load, celeba.EVERYONE),
        celeba.is_local,
        is_fetched=False,
        folders=celeba.folders,
    ),
    "celeba-hair": DatasetEntry(
        "The faces of celeba with black, blond or brown hair, and with one of these alone: their class (DP-SAD's CelebA-H).",
        "celeba",
        partial(celeba.facts, celeba.BY_HAIR),
        partial(celeba.load, celeba.BY_HAIR),
        celeba.is_local,
        is_fetched=False,
        folders=celeba.folders,
    ),
    "faces": _drawn_faces(
        "Drawn faces of 20 people at any size from 16x16 to 64x64, with smile, glasses, hair, its length and identity: nobody's.",
        "faces",
        faces.FACES,
        public_companion="cartoons",
    ),
    "faces-70": _drawn_faces(
        "Drawn faces as those of faces, of whom 70 % do not smile.",
        "faces",
        faces.FACES_70,
        public_companion="cartoons",
    ),
    "faces-90": _drawn_faces(
        "Drawn faces as those of faces, of whom 90 % do not smile.",
        "faces",
        faces.FACES_90,
        public_companion="cartoons",
    ),
    "cartoons": _drawn_faces("Public faces with the same attributes in another style, flat and in ink.", "cartoons", faces.CARTOONS),
    "adult": DatasetEntry(
        "A table of 48 842 people of a census and whether they earn more than 50 000 dollars, in 12 columns; a third is held out.",
        "adult",
        adult.facts,
        adult.load,
        adult.is_local,
        is_fetched=False,
        folders=adult.folders,
    ),
    "breast-cancer": DatasetEntry(
        "A table of 569 tumours, malignant or benign, in ten measures of their cells, bundled with scikit-learn.",
        "breast-cancer",
        lambda _: breast_cancer.FACTS,
        lambda _: breast_cancer.load(),
    ),
    "breast-cancer-fine": DatasetEntry(
        "The same tumours in 50 ranges a measure, among which methods release edges of their own (columns.quantile_ranges).",
        "breast-cancer",
        lambda _: breast_cancer.FINE,
        lambda _: breast_cancer.load(breast_cancer.FINE),
    ),
    "patients": _drawn_patients(
        "A drawn table of 2 000 patients, nobody's, in 8 columns; 20 of them are planted outliers.", "patients", patients.PATIENTS
    ),
    "patients-large": _drawn_patients(
        "50 000 such patients in 15 columns, 500 of them planted outliers.", "patients-large", patients.LARGE
    ),
    "glyphs": DatasetEntry(
        "Public images of digits at any size from 8x8 to 64x64, drawn by a seed from strokes and fonts.",
        "glyphs",
        lambda _: glyphs.facts(),
        glyphs.load,
        draw=glyphs.load,
        sides=glyphs.SIDES,
        fewest=glyphs.FEWEST,
        is_unlimited=True,
    ),
    "processes": DatasetEntry(
        "Public images of no things: leaves, fractals, noise, textures, solids and silhouettes at any size from 8x8 to 128x128.",
        "processes",
        lambda _: processes.facts(),
        processes.load,
        draw=processes.load,
        sides=processes.SIDES,
        fewest=processes.FEWEST,
        is_unlimited=True,
    ),
    "imagenet": DatasetEntry(
        "Pictures in ImageNet's folders, taken to be public, at any size from 8x8 to 256x256.",
        "imagenet",
        imagenet.facts,
        imagenet.load,
        imagenet.is_local,
        draw=imagenet.load,
        sides=imagenet.SIDES,
        is_fetched=False,
        folders=imagenet.folders,
    ),
    "permuted-digits": DatasetEntry(
        "The digits with their pixels in one random order: as hard as they are for moments, and like nothing public.",
        "digits",
        lambda _: permuted.facts(),
        lambda _: permuted.load(),
    ),
}
DATASETS.update(
    {
        f"{name}-validation": _for_choosing(DATASETS[name], fraction)
        for name, fraction in {"digits": 1 / 5, "mnist": 1 / 12, "fashion-mnist": 1 / 12}.items()
    }
)
