"""Drawing samples from a run's weights by one request: what it costs, charged before it starts, and parts worth keeping."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.methods.base import Method
from workbench.models.sample_request import SampleRequest, Source
from workbench.plan import SamplingPlan
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.spending.ledger import Ledger
from workbench.records import Records
from workbench.runs.folder import RunFolder
from workbench.runs.paid import bound_with, paid_stages, raise_bound
from workbench.runs.run import Run
from workbench.runs.samples.cautions import NoiseShares
from workbench.runs.samples.request import DEFAULT, SamplesRequest
from workbench.runs.samples.sets import ProgressFunction
from workbench.runs.store import RunStore
from workbench.runs.trained import load_state
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.privacy.accounting.stages import Stage

SAMPLE_CHUNK = 500
CHUNK_OF_ROWS = 20_000  # of a table, which are small
KEEP_SECONDS = 30.0


@dataclass(frozen=True)
class Drawing:
    """Samples of a run by one request, from the first that is wanted to the last, each from a random stream of its own."""

    workspace: Workspace
    run: Run
    request: SamplesRequest

    @cached_property
    def method(self) -> Method:
        """The run's method with the request's settings."""
        return self.request.method(self.run.plan)

    def plan(self, start: int, stop: int) -> SamplingPlan:
        """What samples `start` to `stop` cost. No record is touched."""
        stages = self._stages(start, stop) if start < stop else []
        bound = bound_with(self.workspace, RunStore(self.workspace).get(self.run.id), stages)
        return SamplingPlan(start=start, stop=stop, releases=tuple(PlannedStage.of(stage) for stage in stages), bound=bound)

    def parts(self, start: int, stop: int, source: Source = "model", progress: ProgressFunction | None = None) -> Iterator[Records]:
        """Samples `start` to `stop` in parts worth keeping; what the sampler spends itself is charged before it starts.

        Those of `source` "public" are of the model before it saw a private record, and cost nothing.
        """
        stages = self._stages(start, stop) if source == "model" else []
        yield from self._paid_parts(stages, start, stop) if stages else self._free(start, stop, source, progress)

    def prior(self, count: int) -> Records:
        """So many samples of the model before it saw a private record, of the same classes, to compare with; kept nowhere."""
        request = replace(self._request_of(0, count, "public"), purpose="public samples to compare")
        return self.method.sample(load_state(self.workspace, self.run, self.request.seed), request)

    def noise_shares(self) -> NoiseShares | None:
        """What the method says of its fitted weights; None where it says nothing."""
        state = load_state(self.workspace, self.run, self.request.seed)
        share = self.method.noise_share(state)
        return None if share is None else (share, self.method.class_noise_share(state), self.method.noise_by_class(state))

    def _stages(self, start: int, stop: int) -> "list[Stage]":
        """What the sampler spends on private records; refused for a seed, which would tell its noise."""
        all_stages = self.method.sampling_stages(self.run.plan.facts, self._request_of(start, stop, "model"))
        stages = [stage for stage in all_stages if stage.spent != "free"]
        if stages and self.request.seed is not None:
            raise WorkbenchError(f"Expected no seed: the sampler of {self.method.name} adds noise, which must be nobody's to repeat.")
        return stages

    def _paid_parts(self, stages: "list[Stage]", start: int, stop: int) -> Iterator[Records]:
        """All samples at once, by a sampler that spends `stages` on them."""
        state = load_state(self.workspace, self.run, self.request.seed)
        ledger, entry = self._charge(stages, start, stop)
        began = time.monotonic()
        drawn = self.method.sample(state, self._request_of(start, stop, "model"))
        self._note("model", stop - start, began)
        ledger.close_run(entry)
        yield drawn

    def _charge(self, stages: "list[Stage]", start: int, stop: int) -> tuple[Ledger, str]:
        """Spend what drawing samples `start` to `stop` costs, and the ledger's entry of it; a second attempt at them pays again.

        The run's bound is raised before anything is drawn too: a draw that fails leaves none that is below what the ledger has.
        """
        ledger, run = Ledger(self.workspace.ledger), RunStore(self.workspace).get(self.run.id)
        paid_stages(run, ledger)  # refuses, before it spends, where the ledger would be too small for the bound that follows
        entry = f"{run.id}-samples-{self.request.id}-{start}-{stop}"
        account = run.plan.facts.name
        ledger.open_run(entry, run.fingerprint, run.dataset, run.method, stages, run.delta, purpose="sampling", account=account)
        before = {spending.stage: spending.charged for spending in ledger.spent(entry)}
        for stage in stages:
            if before[stage.name]:  # a former attempt may have shown what it drew, with other randomness
                ledger.charge_again(entry, stage.name, stage.steps)
            else:
                ledger.charge(entry, stage.name, stage.steps)
        raise_bound(self.workspace, run, ledger)
        return ledger, entry

    def _free(self, start: int, stop: int, source: Source, progress: ProgressFunction | None) -> Iterator[Records]:
        """Samples in parts of half a minute or more, so that an interruption loses no more than that."""
        state = load_state(self.workspace, self.run, self.request.seed)
        size = CHUNK_OF_ROWS if self.run.plan.facts.kind.name == "table" else SAMPLE_CHUNK
        parts, first, began = list[Records](), start, time.monotonic()
        for begin in range(start, stop, size):
            end = min(stop, begin + size)
            parts.append(self.method.sample(state, self._request_of(begin, end, source)))
            if progress is not None:
                progress((end - start) / (stop - start))
            if end == stop or time.monotonic() - began >= KEEP_SECONDS:
                self._note(source, end - first, began)
                yield Records.joined(parts)
                parts, first, began = [], end, time.monotonic()

    def _note(self, source: Source, num_samples: int, began: float) -> None:
        """Keep how long samples of the set as planned took that were begun at the monotonic time `began`."""
        if self.request.id == DEFAULT:
            RunFolder(self.workspace, self.run.id).note_drawing(source, num_samples, time.monotonic() - began)

    def _request_of(self, start: int, stop: int, source: Source) -> SampleRequest:
        """Samples `start` to `stop` of the classes asked for, else as a model that learns labels draws them, else of all in turn."""
        request = SampleRequest.part(self.run.plan.facts, start, stop, self.request.labels, source)
        return replace(request, labels=None) if self.request.has_own_labels(self.method) else request
