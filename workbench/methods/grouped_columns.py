"""A method on tables whose model may have coarser columns than were declared: they are released first, and the model knows no others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, MethodConfig
from workbench.models.grouping import Grouping, grouped_facts, releases, rows
from workbench.models.grouping import stages as grouping_stages
from workbench.models.rules import obeying_rows
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.records import Records
from workbench.training.state import State, Step


class GroupedConfig(MethodConfig):
    """Hyper-parameters of a method whose model may have coarser columns than were declared."""

    columns: Grouping = Field(
        default=Grouping(), description="The declared ranges and categories, or fewer, found by releases that come before all others."
    )


class GroupedColumns(Method):
    """The releases of its columns, and then a model's own: `model_stages` and the implementation are told the columns that these leave."""

    kinds: ClassVar[frozenset[str]] = frozenset({"table"})

    @property
    def grouping(self) -> Grouping:
        """What becomes of the declared columns."""
        assert isinstance(self.config, GroupedConfig)
        return self.config.columns

    @property
    def learns_labels(self) -> bool:
        """The class is a column of the model, in the shares that it released or learned."""
        return True

    @abstractmethod
    def model_stages(self, facts: DatasetFacts) -> list[Stage]:
        """As `stages`, of the model's columns."""

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """What is released of columns, then the model's releases."""
        return [*grouping_stages(self.grouping, facts), *self.model_stages(grouped_facts(self.grouping, facts))]

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """The model's state, and room for what is released of columns."""
        made = super().initial_state(grouped_facts(self.grouping, facts), self.of_model(state))
        return replace(made, facts=facts, tensors=made.tensors | releases.initial_tensors(self.grouping, facts, state.device))

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Release columns, then fit the model on what they make of the records."""
        yield from releases.fit(self.grouping, data, state)
        yield from super().fit(rows.grouped(self.grouping, data, state), public, self.of_model(state))

    def sample(self, state: State, request: SampleRequest) -> Records:
        """The model's rows in the declared categories, none of which breaks a rule."""

        def draw(part: SampleRequest) -> Records:
            return rows.ungrouped(self.grouping, super(GroupedColumns, self).sample(self.of_model(state), part), state, part.purpose)

        return obeying_rows(state.facts, draw, request)

    def seen(self, state: State, data: Records) -> tuple[DatasetFacts, Records]:
        """The columns as released, and the records in them."""
        return self.of_model(state).facts, rows.grouped(self.grouping, data, state)

    def of_model(self, state: State) -> State:
        """The same state, which knows the model's columns alone: what is put into it by name is in both."""
        facts = grouped_facts(self.grouping, state.facts)
        return state if facts is state.facts else replace(state, facts=facts)
