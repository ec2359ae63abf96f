"""`adult`: 48 842 people of the United States' census of 1994 and whether they earn more than 50 000 dollars (Kohavi 1996, UCI).

Read from a folder with `adult.data`, whose rows are trained on, and `adult.test`, whose rows are held out, as published; never
downloaded. Categories are those of `adult.names`, in an order where they have one. Ranges are round numbers declared here from what a
column is (`adult.names`: only people of more than 16 years who work at all): 0 dollars of capital gain or loss and a week of 40 hours
have a range of their own. Which these are was chosen knowing this published table: a guarantee starts after that choice. Two columns
are left out: `fnlwgt`, how many people a row stands for in the census, and `education-num`, which says `education` again.
"""

import csv
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.declaration import DeclaredColumn, TableDeclaration
from workbench.errors import WorkbenchError
from workbench.records import Records
from workbench.workspace import Workspace

NAME = "adult"
FOLDERS = (NAME, "Adult")
COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race", "sex"),
    *("capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
)
UNKNOWN = "unknown"  # the published files have a question mark


@dataclass(frozen=True)
class PublishedFile:
    """A file as published: how many rows it has, and the SHA-256 of them, one a line, without the comment that some copies begin with."""

    rows: int
    sha256: str


TRAIN, HELD_OUT = "adult.data", "adult.test"
PUBLISHED = {
    TRAIN: PublishedFile(32_561, "ea895aae047aa83ca757e3024a029be8b11806c656ad2c5b1efd8cec28af19ad"),
    HELD_OUT: PublishedFile(16_281, "10ab70aad17401e173c0096b6775f78362409517422ceb26c80f5f04dbc2e02e"),
}

DECLARED = TableDeclaration(
    columns=(
        DeclaredColumn(name="age", edges=(17, *range(20, 80, 5), 80, 91)),
        DeclaredColumn(
            name="workclass",
            categories=(
                *("Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov"),
                *("Without-pay", "Never-worked"),
            ),
            missing=UNKNOWN,
        ),
        DeclaredColumn(
            name="education",
            categories=(
                *("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college"),
                *("Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"),
            ),
        ),
        DeclaredColumn(
            name="marital-status",
            categories=(
                *("Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent"),
                "Married-AF-spouse",
            ),
        ),
        DeclaredColumn(
            name="occupation",
            categories=(
                *("Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty", "Handlers-cleaners"),
                *("Machine-op-inspct", "Adm-clerical", "Farming-fishing", "Transport-moving", "Priv-house-serv", "Protective-serv"),
                "Armed-Forces",
            ),
            missing=UNKNOWN,
        ),
        DeclaredColumn(name="relationship", categories=("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried")),
        DeclaredColumn(name="race", categories=("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black")),
        DeclaredColumn(name="sex", categories=("Female", "Male")),
        DeclaredColumn(name="capital-gain", edges=(0, 1, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)),
        DeclaredColumn(name="capital-loss", edges=(0, 1, 500, 1_000, 1_500, 2_000, 2_500, 5_000)),
        DeclaredColumn(name="hours-per-week", edges=(1, 10, 20, 30, 40, 41, 50, 60, 70, 80, 100)),
        DeclaredColumn(
            name="native-country",
            categories=(
                *("United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany", "Outlying-US(Guam-USVI-etc)", "India"),
                *("Japan", "Greece", "South", "China", "Cuba", "Iran", "Honduras", "Philippines", "Italy", "Poland", "Jamaica"),
                *("Vietnam", "Mexico", "Portugal", "Ireland", "France", "Dominican-Republic", "Laos", "Ecuador", "Taiwan", "Haiti"),
                *("Columbia", "Hungary", "Guatemala", "Nicaragua", "Scotland", "Thailand", "Yugoslavia", "El-Salvador"),
                *("Trinadad&Tobago", "Peru", "Hong", "Holand-Netherlands"),
            ),
            missing=UNKNOWN,
        ),
        DeclaredColumn(name="income", categories=("<=50K", ">50K")),
    ),
    target="income",
)


def facts(_workspace: Workspace) -> DatasetFacts:
    """The declared columns and the published number of rows; no file is read."""
    return DatasetFacts(name=NAME, kind=DECLARED.kind, num_records=PUBLISHED[TRAIN].rows, classes=DECLARED.classes)


def folders(root: Path) -> list[Path]:
    """Where the files may lie: a folder of the dataset's name in `root`, or `root` itself if it bears that name."""
    return [root / name for name in FOLDERS] + ([root] if root.name in FOLDERS else [])


def find(root: Path) -> Path | None:
    """The folder with both files."""
    return next((place for place in folders(root) if all((place / name).is_file() for name in PUBLISHED)), None)


def is_local(workspace: Workspace) -> bool:
    """Whether both files are here."""
    return find(workspace.data) is not None


def load(workspace: Workspace) -> Dataset:
    """The published training and test rows as training and held-out records."""
    folder = find(workspace.data)
    if folder is None:
        raise WorkbenchError(
            f"Expected {TRAIN} and {HELD_OUT} in {workspace.data / NAME}, got none or one of them. The UCI Machine Learning Repository "
            "has them (Adult), and they are not downloaded here: put them there, or set WORKBENCH_DATA to the folder above."
        )
    train, held_out = (read_rows(folder / name, published) for name, published in PUBLISHED.items())
    return Dataset(facts(workspace), train, held_out)


def read_rows(path: Path, published: PublishedFile) -> Records:
    """The rows of a file by the numbers of their categories; refused where they are not the published ones."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="ascii").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise WorkbenchError(f"Expected the published rows in {path}, which cannot be read ({error}). Put the original there.") from None
    lines = [line for line in lines if line and not line.startswith("|")]
    if (digest := hashlib.sha256("\n".join(lines).encode()).hexdigest()) != published.sha256:
        raise WorkbenchError(
            f"Expected the {published.rows} published rows in {path}, got {len(lines)} of SHA-256 {digest}. Put the original there; for "
            "rows of your own, add a line of headings and name the file."
        )
    cells = dict(zip(COLUMNS, zip(*csv.reader(lines, skipinitialspace=True), strict=True), strict=True))
    rows = np.stack([column.category_numbers(cells[column.name], path.name) for column in DECLARED.features], axis=1)
    assert DECLARED.label is not None
    return Records(rows, DECLARED.label.category_numbers([cell.removesuffix(".") for cell in cells["income"]], path.name))
