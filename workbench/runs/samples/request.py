"""What a set of samples is asked for: how the same weights are sampled, which classes, and from which random stream."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.errors import DamagedFileError, WorkbenchError, choose, first_complaint
from workbench.privacy.accounting.stages import difference
from workbench.request import read_settings

if TYPE_CHECKING:
    from workbench.methods.base import Method
    from workbench.plan import Plan

DEFAULT = "default"  # the set of a run as it was planned
MOST_DRAWN = 1_000_000  # samples of a set
SET_ID = re.compile(r"[0-9a-f]{8}")


class SamplesRequest(BaseModel):
    """How to sample a run otherwise than it was planned; `of` makes it in its one normal form, in which nothing is as planned.

    `settings` are fields that the method samples by, by dotted name. `labels` are positions of classes, taken in turn; none for all,
    which a model that learns labels draws in its own shares, and in turn only if `balanced`.
    `seed` draws the same samples from the same weights again; None draws from the run's own randomness.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    settings: dict[str, Any] = {}
    labels: tuple[int, ...] = ()
    balanced: bool = False
    seed: int | None = Field(default=None, ge=0)

    @classmethod
    def of(
        cls,
        plan: Plan,
        settings: Mapping[str, Any] | None = None,
        labels: Sequence[str] = (),
        seed: int | None = None,
        *,
        balanced: bool = False,
    ) -> Self:
        """The request that a run of `plan` can carry out; `labels` are names of its classes, all of which make it `balanced`.

        Refuses by name a field that more than sampling reads, a class that is not there, and values that do not go together.
        """
        method = plan.build()
        kind = type(method)
        read = read_settings(kind.Config, settings or {}, plan.method)
        for name in read:
            if not any(f"{name}.".startswith(f"{field}.") for field in kind.sampling_fields):
                fields = ", ".join(kind.sampling_fields) or "none"
                raise WorkbenchError(f"{name} is no field that {plan.method} samples by; those are: {fields}. Train a run with it instead.")
        if labels and not method.draws_labels:
            raise WorkbenchError(f"Expected no classes: this {plan.method} was planned without labels, so no sample has one.")
        if labels and balanced:
            raise WorkbenchError("Expected classes or balanced ones, not both: classes that are asked for come in turn. Leave one out.")
        if balanced and not plan.facts.classes:
            raise WorkbenchError(f"Expected classes to balance, {plan.facts.name} has none.")
        positions = {label: position for position, label in enumerate(plan.facts.classes)}
        chosen = tuple(choose(label, positions, f"class of {plan.facts.name}") for label in labels)
        changed = {name: value for name, value in read.items() if value != _value_at(plan.config, name)}
        try:
            evenly = cls(settings=changed).method(plan).learns_labels and (
                balanced or (bool(chosen) and chosen == tuple(positions.values()))
            )
            request = cls(settings=changed, labels=() if chosen == tuple(positions.values()) else chosen, balanced=evenly, seed=seed)
        except ValidationError as error:
            raise WorkbenchError(f"The request for samples cannot be carried out. {first_complaint(error)}") from None
        request.method(plan)
        return request

    @classmethod
    def parse(cls, text: str, source: object) -> Self:
        """The request whose `text` is kept in `source`."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            raise DamagedFileError(f"Expected a request for samples in {source}, got a damaged file. Move it away.") from None

    @property
    def text(self) -> str:
        """The canonical JSON; equal requests have equal texts."""
        return json.dumps(self.model_dump(mode="json", exclude_defaults=True), sort_keys=True)

    @property
    def id(self) -> str:
        """The name of the set in its run: `default` as planned, else eight hex digits that follow from the request."""
        return DEFAULT if self == type(self)() else hashlib.sha256(self.text.encode()).hexdigest()[:8]

    def summary(self, classes: Sequence[str]) -> str:
        """The request for people."""
        parts = [f"{name}={value}" for name, value in self.settings.items()]
        if self.labels:
            parts.append(f"classes {', '.join(classes[label] for label in self.labels)}")
        if self.balanced:
            parts.append("classes in equal shares")
        if self.seed is not None:
            parts.append(f"seed {self.seed}")
        return "; ".join(parts) or "as planned"

    def has_own_labels(self, method: Method) -> bool:
        """Whether `method` draws the labels of this set in shares of its own."""
        return method.learns_labels and not self.labels and not self.balanced

    def method(self, plan: Plan) -> Method:
        """The run's method with these settings; refuses values that do not go together, or that change what training releases."""
        trained = plan.build()
        config = copy.deepcopy(plan.config)
        for name, value in self.settings.items():
            *outer, last = name.split(".")
            reduce(lambda inner, part: inner[part], outer, config)[last] = value
        try:
            method = type(trained)(trained.Config.model_validate(config))
        except ValidationError as error:
            raise WorkbenchError(f"{plan.method}: {first_complaint(error)}") from None
        if difference(plan.stages, method.releases(plan.facts)):
            raise WorkbenchError(f"Expected settings that training does not read, got {', '.join(self.settings)}. Train a run with them.")
        return method


def check_set_id(samples: str) -> str:
    """Return `samples` if it has the form of a set's id; nothing else ever becomes part of a path."""
    if samples != DEFAULT and not SET_ID.fullmatch(samples):
        raise WorkbenchError(
            f"Expected `{DEFAULT}` or a set of samples by its 8 digits, got {samples!r}. `workbench samples RUN` lists them."
        )
    return samples


def _value_at(config: Mapping[str, Any], name: str) -> Any:
    """The value of a field by dotted name."""
    return reduce(lambda inner, part: inner[part], name.split("."), config)
