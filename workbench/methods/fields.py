"""Fields of a configuration by dotted name, as `phase_two.noise_multiplier`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining

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
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            fields |= {f"{name}.{inner}": item for inner, item in dotted(value).items()}
        else:
            fields[name] = value
    return fields


def part_of(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The values of nested `values` that `names` name, fields or groups of fields, by dotted name."""
    wanted = tuple(names)
    return {name: value for name, value in dotted(values).items() if any(f"{name}.".startswith(f"{part}.") for part in wanted)}


def trainings(config: BaseModel) -> Iterator[OrdinaryTraining | DPSGD]:
    """All settings of training in a configuration, however deep."""
    for _, value in config:
        if isinstance(value, OrdinaryTraining | DPSGD):
            yield value
        if isinstance(value, BaseModel):
            yield from trainings(value)


def with_batches(config: ModelT, size: int) -> ModelT:
    """A copy in which the batches of all of them have this size; it is not validated."""
    parts = {name: with_batches(value, size) for name, value in config if isinstance(value, BaseModel)}
    own = {"batch_size": size} if isinstance(config, OrdinaryTraining | DPSGD) else {}
    return config.model_copy(update=parts | own)
