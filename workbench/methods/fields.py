"""Fields of a configuration by dotted name, as `phase_two.noise_multiplier`."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

ModelT = TypeVar("ModelT", bound=BaseModel)


def value_at(config: BaseModel, name: str) -> Any:
    """The value of the field `name`."""
    value: Any = config
    for part in name.split("."):
        value = getattr(value, part)
    return value


def with_values(config: ModelT, values: Mapping[str, Any]) -> ModelT:
    """A copy with other values of the fields named; they are not validated."""
    for name, value in values.items():
        first, _, rest = name.partition(".")
        config = config.model_copy(update={first: with_values(getattr(config, first), {rest: value}) if rest else value})
    return config


def dotted(values: Mapping[str, Any]) -> dict[str, Any]:
    """Nested values as values by dotted name; what is dotted already stays."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{inner}": item for inner, item in dotted(value).items()}
        else:
            found[name] = value
    return found


def part_of(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The values of nested `values` that `names` name, fields or groups of fields, by dotted name."""
    wanted = tuple(names)
    return {name: value for name, value in dotted(values).items() if any(f"{name}.".startswith(f"{part}.") for part in wanted)}
