"""What a worker leaves behind while it trains: metrics, previews, and an upper bound on what it has spent."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.files import open_private, written_atomically
from workbench.methods.base import Method
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.spending.totals import bound_of
from workbench.records import Records
from workbench.runs.folder import RunFolder
from workbench.serialization import dumps
from workbench.training.cost import peak_memory
from workbench.training.state import State, Step

if TYPE_CHECKING:
    import torch

METRIC_SECONDS = 0.2
PREVIEW_SECONDS = 15.0
PREVIEW_SHARE = 30.0  # previews take at most one part in this of the time
NUM_PREVIEWS = 20


class MetricsWriter:
    """Appends a line to metrics.jsonl at most every fifth of a second, with each value's mean since the line before."""

    def __init__(self, folder: RunFolder, device: "torch.device") -> None:
        self._path, self._device = folder.metrics, device
        self._began = self._written = time.monotonic()
        self._values: dict[str, list[float]] = {}

    def add(self, step: Step, total: int) -> None:
        """Take in a step, the `total`-th over all stages; the first and last of a stage are always written."""
        for name, value in step.values.items():
            self._values.setdefault(name, []).append(value)
        now = time.monotonic()
        if step.step in (1, step.steps) or now - self._written >= METRIC_SECONDS:
            self._write(step, total, now)

    def _write(self, step: Step, total: int, now: float) -> None:
        row = {
            "stage": step.stage,
            "stage_step": step.step,
            "step": total,
            "values": {name: math.fsum(values) / len(values) for name, values in self._values.items()},
            "seconds": now - self._began,
            "private": step.private,
            "peak_bytes": peak_memory(self._device),
        }
        with open_private(self._path, "a") as file:
            file.write(dumps(row) + "\n")
        self._values, self._written = {}, now


class SpentEpsilon:
    """The proved bound of what a fit has spent, evaluated a little ahead of the steps, so that it never lags behind them.

    `charged` and `charged_again` are the ledger's counts by stage when the attempt begins.
    """

    def __init__(
        self, stages: Sequence[Stage], delta: float, full: float, charged: dict[str, int], charged_again: dict[str, int], parts: int = 12
    ) -> None:
        self._stages = {stage.name: stage for stage in stages if stage.spent != "free"}
        self._delta, self._full = delta, full
        self._covered = {name: charged.get(name, 0) for name in self._stages}
        self._again = {name: charged_again.get(name, 0) for name in self._stages}
        self._parts = parts
        self._evaluated = time.monotonic()
        self.value = self._bound()

    def cover(self, stage: str, step: int) -> float:
        """An upper bound, at most infinite, once step `step` of `stage` is spent too."""
        if step > self._covered[stage]:
            planned = self._stages[stage].steps
            self._covered[stage] = min(planned, step - 1 + max(1, planned // self._parts))
            began = time.monotonic()
            self.value = self._bound()
            if time.monotonic() - began > 0.05 * (began - self._evaluated):
                self._parts = max(1, self._parts // 2)
            self._evaluated = time.monotonic()
        return self.value

    def _bound(self) -> float:
        if not any(self._again.values()) and all(self._covered[name] == stage.steps for name, stage in self._stages.items()):
            return self._full
        counts = {name: self._covered[name] + self._again[name] for name in self._stages}
        paid = [replace(stage, steps=counts[name]) for name, stage in self._stages.items() if counts[name]]
        return bound_of(paid, self._delta).epsilon


class Previews:
    """Now and then a few samples of the weights so far, and what single steps have to show; post-processing of what is released.

    A method whose sampler itself spends privacy gets none.
    """

    def __init__(self, folder: RunFolder, method: Method, state: State) -> None:
        self._folder, self._method, self._state = folder, method, state
        self._request = SampleRequest(NUM_PREVIEWS, purpose="preview")
        self._enabled = all(stage.spent == "free" for stage in method.sampling_stages(state.facts, self._request))
        self._next = time.monotonic() + PREVIEW_SECONDS / 3

    def draw_if_due(self) -> None:
        """Draw a preview if it is time for one."""
        if self._enabled and time.monotonic() >= self._next:
            began = time.monotonic()
            self.draw()
            cost = time.monotonic() - began
            self._next = time.monotonic() + max(PREVIEW_SECONDS, PREVIEW_SHARE * cost)

    def draw(self) -> None:
        """Replace previews/latest by samples of the weights as they are."""
        if not self._enabled:
            return
        self._write(self._method.sample(self._state, self._request), self._folder.previews / self._state.facts.kind.preview_file)

    def keep(self, step: Step, total: int) -> None:
        """Keep what a step, the `total`-th over all stages, has to show; replayed steps show it in the same place."""
        if step.shown is not None:
            self._write(step.shown, self._folder.shown_step(step.stage, step.step, total, self._state.facts.kind.preview_file))

    def _write(self, records: Records, path: Path) -> None:
        facts = self._state.facts
        with written_atomically(path, "wb") as file:
            file.write(facts.kind.preview(records, facts.classes))
