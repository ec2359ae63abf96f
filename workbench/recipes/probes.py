"""What a line may ask of a run in the place of measures of its samples: about the training records, private and outside any bound."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from workbench.evaluation import MetricResult
    from workbench.privacy.accounting.values import PrivacyValue
    from workbench.runs.run import Run
    from workbench.workspace import Workspace

EPSILON = 1.0  # whose delta is told
STATISTICS: dict[str, Callable[[np.ndarray], Any]] = {"log10_median_delta": np.median, "log10_largest_delta": np.max}
NOT_DEFINED = "Not defined: it is a value of the training records."


class Probe(BaseModel, ABC):
    """A question about the training records of a finished run; `measures` are what a line may ask for, None for those of samples."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    measures: ClassVar[Mapping[str, Any] | None] = None

    def bound(self, run: Run) -> PrivacyValue:
        """What is proved of the model that is asked about."""
        return run.bound

    @abstractmethod
    def results(self, workspace: Workspace, run: Run, metrics: Sequence[str], num_samples: int | None) -> list[MetricResult]:
        """The measures called `metrics`, none of which may leave the room."""


class Leakage(Probe):
    """What samples show of the records by the ideal denoiser, over the records, uncut: the logarithm of delta at epsilon 1.

    The chains are drawn by the run's seed.
    """

    measures: ClassVar[Mapping[str, Any] | None] = STATISTICS
    asks: Literal["leakage"]
    samples: int = Field(default=1, ge=1, description="m, the samples that are released.")
    release: int = Field(default=0, ge=0, description="T_rl, the time step at which they are.")
    draws: int = Field(default=2_000, ge=2, description="Chains of the ideal denoiser.")

    def results(self, workspace: Workspace, run: Run, metrics: Sequence[str], num_samples: int | None) -> list[MetricResult]:
        """A statistic over all training records a measure."""
        from workbench.privacy.not_dp.per_instance import kappa_j
        from workbench.runs.exposure import expose_run

        leakage = expose_run(workspace, run.id, self.draws, run.seed or 0).leakage
        (place,) = np.flatnonzero(leakage.timesteps == self.release + 1)
        delta = kappa_j(EPSILON) * self.samples * leakage.by_release_step()[place]
        return [self._result(name, float(np.log10(STATISTICS[name](delta))), leakage.label) for name in metrics]

    def _result(self, name: str, value: float, note: str) -> MetricResult:
        from workbench.evaluation import MetricResult

        absent: dict[str, Any] = dict.fromkeys(("interval", "ceiling", "epsilon_zero", "epsilon_zero_num_samples", "chance"))
        values = {"name": name, "value": value, "num_samples": self.samples, "note": note, "epsilon_zero_reason": NOT_DEFINED}
        fixed = {"features": "records", "split": "train", "unit": "log10 of delta at epsilon 1", "better": "lower"}
        return MetricResult.model_validate({**absent, **values, **fixed, "seconds": 0.0, "releasable": False, "ceiling_num_samples": 0})


class Removal(Probe):
    """The run's plan trained anew, by the run's seed, on the records that are left, and measured as its samples would be."""

    asks: Literal["removal"]
    kept: Literal["without the most exposed", "without as many at random"]
    share: float = Field(default=0.05, gt=0, le=0.5, description="Of the training records, that is left out.")
    draws: int = Field(default=2_000, ge=2, description="Chains of the ideal denoiser that rank the records.")

    def bound(self, run: Run) -> PrivacyValue:
        """None, whatever the run has."""
        from workbench.runs.removal import OUTSIDE

        return run.bound.model_copy(update={"epsilon": math.inf, "status": "not_proved", "reason": OUTSIDE})

    def results(self, workspace: Workspace, run: Run, metrics: Sequence[str], num_samples: int | None) -> list[MetricResult]:
        """The measures of samples of the model that never saw those who are left out."""
        from workbench.runs.removal import NUM_SAMPLES, measured_without

        options = {"metrics": metrics, "num_samples": num_samples or NUM_SAMPLES, "num_draws": self.draws}
        results = measured_without(workspace, run.id, self.kept, self.share, run.seed or 0, **options)
        return [result.of_run(False) for result in results]


AnyProbe = Annotated[Leakage | Removal, Field(discriminator="asks")]
