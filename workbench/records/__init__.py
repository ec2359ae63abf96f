"""What a record is, before any dataset: a kind of record checks, draws, compares, shows and keeps its records itself.

Nothing else asks which kind there is: methods, measures and feature spaces name the kinds that they take, pages have a view of each.
"""

from typing import Annotated

from pydantic import Field

from workbench.records.base import RecordKind, Records
from workbench.records.images import ImageKind
from workbench.records.tables import Column, TableKind

__all__ = ["KINDS", "Column", "ImageKind", "Kind", "RecordKind", "Records", "TableKind"]

Kind = Annotated[ImageKind | TableKind, Field(discriminator="name")]

KINDS: dict[str, type[RecordKind]] = {"image": ImageKind, "table": TableKind}
