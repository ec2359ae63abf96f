"""Tables of pages: rows in Markdown, and the fields of a pydantic model."""

from collections.abc import Iterable, Iterator
from typing import get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo


def table(title: str, heads: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    """A page of one table."""
    return f"# {title}\n\n" + "\n".join(rows_of(heads, rows)) + "\n"


def rows_of(heads: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> list[str]:
    """Lines of a table; what would end a cell is escaped."""
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return [*lines, *(f"| {' | '.join(str(cell).replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in row)} |" for row in rows)]


def settings_table(model: type[BaseModel]) -> list[str]:
    """Name, default and meaning of every field of a configuration, nested ones by their dotted names."""
    return rows_of(("setting", "default", "meaning"), _fields(model))


def _fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str, str]]:
    for name, field in model.model_fields.items():
        if (inner := _inner(field)) is not None:
            yield from _fields(inner, f"{prefix}{name}.")
        else:
            yield f"`{prefix}{name}`", _default(field), field.description or ""


def _inner(field: FieldInfo) -> type[BaseModel] | None:
    kinds = [field.annotation, *get_args(field.annotation)]
    models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
    return models[0] if len(models) == 1 and models[0].model_fields else None


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "to be given"
    value = field.get_default(call_default_factory=True, validated_data={})
    return "empty" if value is None else f"`{value}`"
