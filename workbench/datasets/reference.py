"""Which dataset, and how it is read: a value that is a registered name or a path, and never one taken for the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench import datasets
from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.csv_table import SUFFIX, declaration_of
from workbench.datasets.declaration import TableDeclaration
from workbench.errors import WorkbenchError
from workbench.workspace import Workspace


class DatasetRef(BaseModel):
    """A registered dataset by name, or the user's own files by path, with what is declared of them and how they are read.

    Either `name` or `path` is given. Of one's own files `account` is the name that their account in the ledger goes by, and
    `classes` are the names of their classes, if the files have none; of a table of one's own `declared` says what its columns are.
    `shape` None is the images' own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(default="", description="Of a registered dataset.")
    path: str = Field(default="", description="Of a folder of class subfolders, an .npz or a .csv file; absolute.")
    account: str = Field(default="", description="The name of one's own files in the ledger, as --name.")
    classes: tuple[str, ...] = Field(default=(), description="Names of the classes of one's own files, if these have none.")
    shape: tuple[int, ...] | None = Field(default=None, description="(C, H, W) that every image is read at.")
    split_seed: int = Field(default=0, ge=0, description="Splits one's own files, and draws what is drawn.")
    declared: TableDeclaration | None = Field(default=None, description="What is public of the columns of one's own table.")
    held_out: str = Field(default="", description="Of a .csv file with the held-out rows of one's own table; absolute.")
    label: str = Field(default="", description="The attribute whose values are the classes; of smile+hair, their combinations.")

    @model_validator(mode="after")
    def _is_one_of_two(self) -> Self:
        if bool(self.name) == bool(self.path):
            raise ValueError(f"Expected a dataset's name or a path, got name {self.name!r} and path {self.path!r}.")
        if self.declared and not datasets.is_csv(Path(self.path or self.name)):
            raise ValueError(f"Expected a declaration of columns with a .csv file of one's own, got it with {self.text}")
        if self.held_out and not datasets.is_csv(Path(self.path)):
            raise ValueError(f"Expected held-out rows beside a .csv file of one's own, got them beside {self.text}")
        return self

    @classmethod
    def parse(
        cls,
        text: str | Path,
        name: str | None = None,
        resize: str | None = None,
        classes: str | None = None,
        split_seed: int = 0,
        label: str | None = None,
        workspace: Workspace | None = None,
        declared: str | None = None,
        held_out: str | None = None,
    ) -> Self:
        """The dataset that texts name, as options and fields of a form have them; empty texts leave the default.

        `digits` is the registered dataset whatever lies in the working directory, and ./digits (or a Path) the folder. `name` is that
        of the account of one's own files, `resize` is C,H,W, and `classes` are names between commas or a JSON list. A path is made
        absolute, and its account named. `declared` is a declaration as JSON or its file's path; a table's is kept whole, so that what
        stands beside it later changes no request. `held_out` is the path of a table's held-out rows, made absolute too.
        """
        reading = datasets.reading_arguments(name, resize, classes)
        values = {"shape": reading["shape"], "classes": reading["classes"], "split_seed": split_seed, "label": label or ""}
        if held_out and not (datasets.is_path(text) and datasets.is_csv(Path(text))):
            raise WorkbenchError(f"Expected held-out rows beside a {SUFFIX} file of one's own, got them beside {text}. Leave them out.")
        values["held_out"] = str(Path(held_out).expanduser().resolve()) if held_out else ""
        if declared and not datasets.is_path(text):
            raise WorkbenchError(f"Expected a declaration of columns beside a file of one's own, got one beside {text}. Leave it out.")
        if datasets.is_path(text):
            path = Path(text).expanduser().resolve()
            declaration = TableDeclaration.parse(declared) if declared else None
            values["declared"] = declaration_of(path, declaration) if datasets.is_csv(path) else declaration
            return cls(path=str(path), account=datasets.own_name(path, name or None, datasets.DATASETS), **values)
        known = datasets.as_declared(datasets.facts(text, workspace=workspace), name or None, values.pop("classes"))
        if values["shape"] == known.shape:
            values["shape"] = None
        return cls(name=str(text), **values)

    @classmethod
    def as_planned(cls, text: str | Path, facts: DatasetFacts, workspace: Workspace | None = None) -> Self:
        """The dataset at a place, read as `facts` say that it was planned: at their shape, and one's own files under their name."""
        if datasets.is_path(text):
            path = str(Path(text).expanduser().resolve())
            if datasets.is_csv(Path(path)):
                return cls.parse(path, facts.name)
            return cls(path=path, account=facts.name, shape=facts.shape, classes=facts.classes)
        known = datasets.facts(text, workspace=workspace)
        return cls(name=str(text), shape=None if known.shape == facts.shape else facts.shape)

    @property
    def text(self) -> str:
        """What `parse` reads as the same place: a registered name, or an absolute path."""
        return self.name or self.path

    @property
    def is_plain(self) -> bool:
        """Whether the name alone says it all."""
        return self == type(self)(name=self.name) if self.name else False

    @property
    def texts(self) -> dict[str, str]:
        """The other arguments of `parse`, without those at their default."""
        resize = ",".join(map(str, self.shape)) if self.shape else ""
        values = {"name": self.account, "resize": resize, "classes": json.dumps(self.classes) if self.classes else "", "label": self.label}
        values |= {"declared": self.declared.text if self.declared else "", "held_out": self.held_out}
        return {name: text for name, text in values.items() if text}

    def facts(self, workspace: Workspace | None = None) -> DatasetFacts:
        """The public facts, from literals and headers where they say enough."""
        known = datasets.facts(
            self.place,
            self.shape,
            self.split_seed,
            name=self.account or None,
            classes=self.classes,
            declared=self.declared,
            held_out=self.held_out_place,
            workspace=workspace,
        )
        return known.labelled_by(self.label) if self.label else known

    def load(self, known: DatasetFacts | None = None, workspace: Workspace | None = None) -> Dataset:
        """The records. With `known` facts, under their name, with their classes and at their shape, as when it was planned."""
        if known is not None and not self.label:
            return datasets.load_as(self.place, known, self.split_seed, workspace, self.declared, self.held_out_place)
        shape, name = (self.shape, self.account) if known is None else (known.shape, known.name)
        named = {"name": name or None, "classes": self.classes, "declared": self.declared, "held_out": self.held_out_place}
        dataset = datasets.load(self.place, shape, self.split_seed, **named, workspace=workspace)
        return dataset.labelled_by(self.label) if self.label else dataset

    @property
    def held_out_place(self) -> Path | None:
        """Where the held-out rows of one's own table lie, if in a file of their own."""
        return Path(self.held_out) if self.held_out else None

    @property
    def place(self) -> str | Path:
        """A name, or a `Path`, which no registered name can be taken for."""
        return self.name or Path(self.path)
