"""Discrete diffusion with the Bayes-optimal denoiser of the records themselves: a value for each record, and no differential privacy."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch
from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, MethodConfig
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.events import UnprovedDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.not_dp.discrete_chain import DiscreteChain, draw_columns, reverse_columns, softmax
from workbench.privacy.not_dp.per_instance import Leakage, monte_carlo_leakage
from workbench.records import Records, TableKind
from workbench.training.state import State, Step

PER_INSTANCE = "The denoiser is the records themselves: what a sample shows of one depends on the others, and nothing bounds it for all."


class ChainConfig(MethodConfig):
    """How records are noised, and by which attribute samples are steered."""

    timesteps: int = Field(default=4, ge=1, description="Steps of the chain, from which all alike is kept.")
    attribute: str = Field(default="shifted", description="The attribute that samples are steered by.")


class PerInstance(Method):
    """Rows of the reverse chain among the records of a class and an attribute's value."""

    name = "odd-per-instance"
    title = "A value for each record"
    source = "tests"
    kinds = frozenset({"table"})
    Config = ChainConfig
    released: ClassVar[tuple[str, ...]] = ()
    kept_private: ClassVar[tuple[str, ...]] = ("table",)
    config: ChainConfig

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The records, taken over in one go."""
        return [Stage("table", UnprovedDpEvent(PER_INSTANCE, "not_proved"), "once", reason=PER_INSTANCE)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No claim of an epsilon."""
        return PrivacyValue(epsilon=float("inf"), delta=delta, status="not_proved", reason=PER_INSTANCE)

    def sampling_stages(self, facts: DatasetFacts, request: SampleRequest) -> list[Stage]:
        """Each request asks the records again."""
        return [Stage("chain", UnprovedDpEvent(PER_INSTANCE, "not_proved"), "once", reason=PER_INSTANCE)]

    @property
    def guiding_attribute(self) -> str:
        """As configured."""
        return self.config.attribute

    def per_instance(
        self, facts: DatasetFacts, data: Records, num_draws: int, seed: int = 0, progress: Callable[[float], None] | None = None
    ) -> Leakage:
        """J of every record in the chain of its own group, whose samples alone can show it."""
        groups, parts = self._groups(data), []
        for group in np.unique(groups[data.mask], axis=0):
            where = np.flatnonzero((groups == group).all(axis=1) & data.mask)
            table = data.records[where], sizes_of(facts), self._kept
            leakage = monte_carlo_leakage(*table, num_draws=num_draws, seed=seed, progress=progress)
            parts.append((where, leakage))
        names = ("per_step", "total", "standard_error", "first_error")
        whole = {name: np.zeros((*getattr(parts[0][1], name).shape[:-1], len(data))) for name in names}
        for where, leakage in parts:
            for name in names:
                whole[name][..., where] = getattr(leakage, name)
        return replace(parts[0][1], **whole)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for the records, their classes and values; -1 in those of a null record."""
        state.tensors = {"table": torch.full((facts.num_records, facts.dimensions + 2), -1)}
        return state

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """The records in an order that says nothing of whose they are."""
        if state.steps.get("table"):
            return
        state.spend("table", 1)
        rows = np.column_stack([data.records, self._groups(data)])
        rows[~data.mask] = -1
        order = state.randomness.stream("order").choice(len(data), len(data))
        state.tensors["table"] = torch.from_numpy(rows[order])
        state.steps["table"] = 1
        yield Step("table", 1, 1)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Values of the attribute in turn within each class; each sample by the reverse chain of its own group."""
        labels = request.label_array(state.facts.num_classes)
        assert labels is not None
        values = np.arange(len(labels)) // state.facts.num_classes % len(state.facts.attributes[self.config.attribute])
        table, sizes = state.tensors["table"].numpy(), sizes_of(state.facts)
        seed = int(state.randomness.stream(request.purpose).integers(0, 2**62)[0])
        draw, rows = np.random.default_rng(seed), np.zeros((len(labels), len(sizes)), np.int64)
        for label, value in sorted(set(zip(labels.tolist(), values.tolist(), strict=True))):
            wanted = (labels == label) & (values == value)
            group = table[(table[:, -2] == label) & (table[:, -1] == value), :-2]
            rows[wanted] = reversed_rows(group, sizes, self._kept, int(wanted.sum()), draw)
        return Records(rows, labels, {self.config.attribute: values})

    def _groups(self, data: Records) -> np.ndarray:
        """Class and attribute's value of each record: (N, 2)."""
        assert data.labels is not None
        return np.column_stack([data.labels, data.attributes[self.config.attribute]])

    @property
    def _kept(self) -> np.ndarray:
        """alphas_cumprod (timesteps + 1,), falling evenly from 1 to 0."""
        return np.linspace(1.0, 0.0, self.config.timesteps + 1)


def sizes_of(facts: DatasetFacts) -> np.ndarray:
    """The number of categories of each column."""
    return np.array(TableKind.of(facts.kind).categories)


def reversed_rows(group: np.ndarray, sizes: np.ndarray, kept: np.ndarray, count: int, draw: np.random.Generator) -> np.ndarray:
    """`count` rows by the reverse chain among a group's records, (count, columns), drawn evenly where it has none."""
    rows = (draw.random((count, len(sizes))) * sizes).astype(np.int64)
    if len(group) < 2:
        return rows
    chain = DiscreteChain.of(group, sizes, kept)
    for t in range(chain.timesteps, 0, -1):
        rows = draw_columns(reverse_columns(chain, rows, chain.posterior(t), softmax(chain.scores(rows, t))), draw)
    return rows
