"""What a record is, before any dataset: records with what belongs to each of them, by position."""

from workbench.records.base import Records

__all__ = ["Records"]
