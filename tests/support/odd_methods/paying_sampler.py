"""A sampler that touches private records: every request releases their counts anew, at a proved price."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch
from torch import nn

from support.counted_table import CountedTable
from workbench.datasets.base import DatasetFacts
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.records import Records
from workbench.training.state import State, Step


class Counts(nn.Module):
    """Exact counts, int64 (classes, all categories), which stay in the room."""

    def __init__(self, like: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("counts", torch.zeros(like.shape, dtype=torch.int64))


class PayingSampler(CountedTable):
    """Rows drawn from the mean of the release that training made and of one that the request makes."""

    name = "odd-paying-sampler"
    title = "A sampler that pays"
    kept_private: ClassVar[tuple[str, ...]] = ("counts",)

    def sampling_stages(self, facts: DatasetFacts, request: SampleRequest) -> list[Stage]:
        """One more release of the same counts."""
        return [replace(stage, name="answer") for stage in self.stages(facts)]

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for the release and for the counts."""
        super().initial_state(facts, state)
        state.modules["counts"] = Counts(state.tensors["marginals"])
        return state

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """The release, and the counts kept for the sampler."""
        for step in super().fit(data, public, state):
            state.modules["counts"].load_state_dict({"counts": torch.from_numpy(self.counts(data, state.facts))})
            yield step

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Rows of the mean of both releases."""
        counts = state.modules["counts"].state_dict()["counts"].numpy()
        answer = self.released_counts(counts, f"answer for {request.purpose}", state)
        mean = (state.tensors["marginals"] + answer) / 2
        return super().sample(replace(state, tensors={"marginals": mean}), request)
