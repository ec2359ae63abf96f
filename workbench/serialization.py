"""Plain JSON values from ours: infinity is the string "inf", sets are sorted, paths and enums are their text."""

import dataclasses
import enum
import json
import math
from pathlib import Path
from typing import Any

from pydantic import BaseModel


def jsonable(value: Any) -> Any:
    """Turn models, dataclasses, numpy scalars and non-finite numbers into what `json.dumps` writes for every reader."""
    if isinstance(value, BaseModel):
        return {name: jsonable(getattr(value, name)) for name in type(value).model_fields}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(jsonable(item) for item in value)
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, Path):
        return str(value)
    if callable(to_list := getattr(value, "tolist", None)):
        return jsonable(to_list())
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON text of `jsonable(value)`; never the words Infinity or NaN, which are not JSON."""
    return json.dumps(jsonable(value), indent=indent, allow_nan=False)
