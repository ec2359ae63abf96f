"""What is asked for: one value that a form, a link, a command, a recipe's line and a clone make and read alike."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Self, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from workbench.datasets import is_path
from workbench.datasets.base import DatasetFacts
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError, check_delta, choose, first_complaint
from workbench.privacy.accounting.values import Target
from workbench.workspace import Workspace


class Request(BaseModel):
    """A method on a dataset at an epsilon, with what is set by hand; `of` and `parse` make it in its one normal form.

    `dataset` may be public facts given by hand, which can be planned for and not trained on. `epsilon` None leaves what is
    configured (and finds the noise for 10 where none is); `delta` None is the preset's. `settings` are fields of the method's
    configuration by dotted name, over its defaults and the preset's.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str = Field(description="The name of a method; `workbench methods` lists them.")
    dataset: DatasetRef | DatasetFacts = Field(description="The records: a dataset's name or path, or public facts to plan for.")
    preset: str = Field(default="default", description="Which of the method's presets it starts from.")
    epsilon: float | None = Field(
        default=None, description="The epsilon to reach; if empty, that of the configured noise, or 10 where none is configured."
    )
    delta: float | None = Field(default=None, description="The delta of that epsilon; the preset's if empty.")
    target: Target = Field(default="bound", description="What `epsilon` is: the proved bound, or the paper's claim.")
    settings: dict[str, Any] = Field(default={}, description="Fields of the method's configuration, by dotted name.")

    @classmethod
    def of(
        cls,
        method: str,
        dataset: DatasetRef | DatasetFacts | str | Path,
        *,
        preset: str = "default",
        epsilon: float | None = None,
        delta: float | None = None,
        target: Target = "bound",
        settings: Mapping[str, Any] | None = None,
    ) -> Self:
        """The request in its normal form: names that are known, settings as the method's configuration reads them.

        Raises WorkbenchError for an unknown name, which lists the choices, and for a value out of range.
        """
        from workbench.methods import METHODS  # takes a second, which reading a request need not wait for

        method_class = choose(method, METHODS, "method")
        choose(preset, method_class.presets, f"preset of {method}")
        if delta is not None:
            check_delta(delta)
        if epsilon is not None and not (epsilon > 0 and math.isfinite(epsilon)):
            raise WorkbenchError(f"Expected a finite epsilon above 0, got {epsilon}.")
        place = DatasetRef.parse(dataset) if isinstance(dataset, str | Path) else dataset
        values = {"preset": preset, "epsilon": epsilon, "delta": delta, "target": target}
        try:
            return cls(method=method, dataset=place, **values, settings=read_settings(method_class.Config, settings or {}, method))
        except ValidationError as error:
            raise WorkbenchError(f"The request cannot be planned. {first_complaint(error)}") from None

    @classmethod
    def parse(cls, text: str) -> Self:
        """The request whose `text` this is; any JSON of its fields will do."""
        try:
            given = cls.model_validate_json(text)
        except ValidationError as error:
            raise WorkbenchError(f"Expected a request as JSON, got {first_complaint(error)}") from None
        return given.edited()

    def edited(self, **changes: Any) -> Self:
        """This request in its normal form, with `changes` of its fields; `settings` are laid over those it has."""
        fields = {name: getattr(self, name) for name in Request.model_fields} | changes
        return self.of(**{**fields, "settings": {**self.settings, **changes.get("settings", {})}})

    @property
    def text(self) -> str:
        """The canonical JSON: sorted, without what stands at its default. Equal requests have equal texts."""
        return json.dumps(self.model_dump(mode="json", exclude_defaults=True), sort_keys=True)

    @property
    def place(self) -> DatasetRef:
        """The dataset, for what reads its records; refused for facts given by hand."""
        if isinstance(self.dataset, DatasetRef):
            return self.dataset
        raise WorkbenchError(f"Expected a dataset to train on, got facts given by hand ({self.dataset.name}). Name a dataset or a path.")

    def facts(self, workspace: Workspace | None = None) -> DatasetFacts:
        """The public facts that its plan is made from."""
        return self.dataset.facts(workspace) if isinstance(self.dataset, DatasetRef) else self.dataset


def read_settings(model: type[BaseModel], settings: Mapping[str, Any], method: str = "") -> dict[str, Any]:
    """`settings` by dotted name in order of names, each as its field of `model` reads it, as plain JSON values.

    Nested values (`{"network": {"num_heads": 2}}`) become dotted ones. An unknown name lists the choices.
    """
    settings_read: dict[str, Any] = {}
    for name, value in settings.items():
        settings_read |= _read(model, name.split("."), value, "", method)
    return dict(sorted(settings_read.items()))


def nested_model(field: FieldInfo) -> type[BaseModel] | None:
    """The model that a field holds, or None; an optional model counts."""
    kinds = get_args(field.annotation) if get_origin(field.annotation) in (Union, UnionType) else (field.annotation,)
    models = [model for model in kinds if model is not NoneType]
    return models[0] if len(models) == 1 and isinstance(models[0], type) and issubclass(models[0], BaseModel) else None


def public_fields(model: type[BaseModel], outer: str = "") -> tuple[str, ...]:
    """The fields of a configuration that name public images, by dotted name: they are called `PUBLIC` wherever they stand."""
    names: list[str] = []
    for name, field in model.model_fields.items():
        inner = nested_model(field)
        names += public_fields(inner, f"{outer}{name}.") if inner else [f"{outer}{name}"] * (name == PUBLIC)
    return tuple(names)


PUBLIC = "dataset"  # what a field is called that names public images


def _absolute(place: Any) -> Any:
    """The absolute path of files of one's own, which a run in another folder finds too; a registered name as it is."""
    if isinstance(place, str) and place.strip() and is_path(place):
        return str(Path(place).expanduser().resolve())
    return place


def _read(model: type[BaseModel], path: list[str], value: Any, outer: str, method: str) -> dict[str, Any]:
    name, *rest = path
    inner, full = nested_model(choose(name, model.model_fields, f"field of {model.__name__}")), f"{outer}{name}"
    if inner is None:
        if rest:
            raise WorkbenchError(f"{name} has no fields of its own, so {'.'.join(path)!r} names nothing.")
        return {full: _value(model, name, _absolute(value) if name == PUBLIC else value, full, method)}
    if rest:
        return _read(inner, rest, value, f"{full}.", method)
    if not isinstance(value, Mapping):
        raise WorkbenchError(f"Expected fields of {name}, as {name}.{next(iter(inner.model_fields))}, got {value!r}.")
    return {key: read for part, item in value.items() for key, read in _read(inner, part.split("."), item, f"{full}.", method).items()}


def _value(model: type[BaseModel], name: str, value: Any, full: str, method: str) -> Any:
    reader = _reader(model, name)
    try:
        return reader.dump_python(reader.validate_python(value), mode="json")
    except ValidationError as error:
        raise WorkbenchError(f"{method or model.__name__}: {first_complaint(error, full)}") from None


@cache
def _reader(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    """What reads the values of one field: its type and bounds alone, not what the whole model asks of several together."""
    field = model.model_fields[name]
    annotation: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation  # type: ignore[valid-type]
    return TypeAdapter(annotation, config=ConfigDict(allow_inf_nan=False))
