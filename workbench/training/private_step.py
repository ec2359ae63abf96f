"""One private step: clipped per-record gradients in microbatches, noise once, division by the expected batch size."""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch import distributed as dist

from workbench.errors import WorkbenchError
from workbench.training.cost import check_fits, fits, peak_of, records_at_once
from workbench.training.distributed import check_same_key, rank_and_size, share_of, share_parameters, sum_over_ranks
from workbench.training.grid import MOST_IN_BATCH
from workbench.training.microbatch import Microbatch
from workbench.training.mixing import Losses, check_independent, check_repeated, mixing_possible
from workbench.training.per_record import ClippedSum, PerRecordGradients
from workbench.training.private_optimizer import PrivateOptimizer
from workbench.training.randomness import Randomness
from workbench.training.state import PerformanceSettings, as_found

logger = logging.getLogger(__name__)

CHECKED_ONE_IN = 50  # records: what asking one of them again costs is at most one part in this of a step


class PrivateStep:
    """DP-SGD steps with noise multiplicity on one module; the optimiser handed in is changed by them and is checkpointed as ever.

    `losses(microbatch)` returns one loss per row, (R K,), for the rows that `microbatch.rows` names; a record's loss is the
    mean over its K rows. Records share a pass only where nothing can mix them: `RowLosses` on a network whose layers are
    known. All others go through one at a time, and are asked again at random steps.

    `max_grad_norm` is the clipping norm of a record's gradient, or one for each of `parameter_groups`, beginnings of parameters'
    names (a tuple of them for one group): then the noise has the deviation noise_multiplier sqrt(sum C_g^2). `clip_to` sets
    others before a step.

    `division` "realised" divides by the number of records drawn, as some papers print it: no bound covers that, it is for
    study only. `group` makes the ranks of a process group share each batch. `records_at_once` keeps the microbatch size that
    was found, by purpose, and `keep_size` says which is to be used where one is found: hand in the state's, so that a resumed run, and
    every rank, splits its batches alike.
    """

    def __init__(
        self,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        noise_multiplier: float,
        max_grad_norm: float | Sequence[float],
        expected_batch_size: float,
        randomness: Randomness,
        noise_multiplicity: int = 1,
        purpose: str = "private step",
        performance: PerformanceSettings | None = None,
        division: Literal["expected", "realised"] = "expected",
        group: dist.ProcessGroup | None = None,
        records_at_once: dict[str, int] | None = None,
        keep_size: Callable[[str, int], int] = as_found,
        parameter_groups: Sequence[str | tuple[str, ...]] = ("",),
    ) -> None:
        thresholds = (max_grad_norm,) if isinstance(max_grad_norm, float | int) else tuple(max_grad_norm)
        check_settings(noise_multiplier, thresholds, expected_batch_size)
        self.gradients = PerRecordGradients(module, noise_multiplicity)
        self.groups = [set(group.values()) for group in grouped(self.gradients.parameters, parameter_groups)]
        self.optimizer = PrivateOptimizer(
            optimizer,
            noise_multiplier=noise_multiplier,
            max_grad_norm=math.hypot(*thresholds),
            divisor=expected_batch_size,
            expected_batch_size=expected_batch_size,
            randomness=randomness,
            purpose=f"{purpose}: noise",
            group=group,
        )
        check_same_parameters(module, self.optimizer.params)
        self.clip_to(thresholds)
        self.expected_batch_size, self.division = expected_batch_size, division
        self.randomness, self.purpose, self.group = randomness, purpose, group
        self.performance = performance or PerformanceSettings()
        self.records_at_once, self.keep_size = {} if records_at_once is None else records_at_once, keep_size
        self.device = next(module.parameters()).device
        self._tried = False
        self._alone: str | None = None
        check_same_key(randomness, group)
        share_parameters(module, group)
        if division == "realised":
            logger.warning("Dividing by the realised batch size: for study only, no privacy bound covers this run.")

    def clip_to(self, thresholds: Sequence[float]) -> None:
        """Clip to these norms from now on, one a group of parameters, and scale the noise to what a record may then move."""
        if len(thresholds) != len(self.groups):
            raise WorkbenchError(f"Expected a clipping norm for each of {len(self.groups)} groups of parameters, got {len(thresholds)}.")
        self.thresholds = tuple(thresholds)
        self.optimizer.max_grad_norm = math.hypot(*thresholds)

    def step(self, step: int, places: np.ndarray, losses: Losses) -> float | None:
        """Step `step` on the batch of the records at `places` of the dataset (none: noise is added all the same); the mean loss, or None.

        The loss is a private value.
        """
        total = self.accumulate(step, places, losses)
        self.apply(step, len(places))
        return total / len(places) if len(places) else None

    def accumulate(self, step: int, places: np.ndarray, losses: Losses) -> float:
        """The first half of `step`: clipped gradients summed over the batch; the sum of the records' losses."""
        check_places(places)
        if self.device.type == "cuda":
            self.optimizer.draw_ahead(step)
        total = torch.zeros((), device=self.device)
        self._look_for_mixing(losses)
        asked_again = self._record_asked_again(step, len(places)) if self._alone else -1
        kept: tuple[Microbatch, ClippedSum] | None = None
        for number, part in enumerate(self.microbatches(step, places, losses)):
            clipped = self._clipped_sum(part, losses)
            total += self._add(clipped)
            if number == asked_again:
                kept = part, ClippedSum({}, clipped.norms, clipped.losses)
        if kept is not None:
            check_repeated(kept[1], self._clipped_sum(kept[0], losses), self._alone)
        sum_over_ranks([total], self.group)
        return float(total)

    def _look_for_mixing(self, losses: Losses) -> None:
        """Find out whether records may share a pass, as the module and the losses are now."""
        alone = mixing_possible(self.gradients, losses)
        if alone and alone != self._alone:
            logger.warning("%s: %s, so every record goes through alone, which is slow. See RowLosses.", self.purpose, alone)
        self._alone = alone

    def _record_asked_again(self, step: int, num_records: int) -> int:
        """Which of this rank's records is asked again after all others; -1 for none.

        One at the first step, and then one in every `CHECKED_ONE_IN` on average, by private coins.
        """
        rank = rank_and_size(self.group)
        mine = len(share_of(num_records, *rank))
        coins = self.randomness.stream(f"{self.purpose}: checks", step, rank[0])
        if not mine or (self._tried and float(coins.random(1)[0]) * CHECKED_ONE_IN > mine):
            return -1
        return int(coins.integers(0, mine)[0])

    def apply(self, step: int, num_records: int) -> None:
        """The second half: noise, division, and the optimiser's step."""
        self.optimizer.noise_step = step
        self.optimizer.divisor = self.expected_batch_size if self.division == "expected" else max(num_records, 1)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def microbatches(self, step: int, places: np.ndarray, losses: Losses) -> Iterator[Microbatch]:
        """This rank's records of the batch, as many at a time as run at once."""
        mine = self._microbatch(step, share_of(len(places), *rank_and_size(self.group)), places)
        size = self._size(mine, losses)
        for start in range(0, len(mine.records), size):
            yield mine.part(slice(start, start + size))

    def _size(self, mine: Microbatch, losses: Losses) -> int:
        """Records that run at once: one where they could mix, else as set, as found before, or found now."""
        if not self._tried and len(mine.records) > (0 if self._alone else 1):
            (self._try_alone if self._alone else self._try)(mine, losses)
            self._tried = True
        if self._alone:
            return 1
        if self.performance.microbatch_size:
            return max(1, self.performance.microbatch_size // self.gradients.noise_multiplicity)
        return self.records_at_once.get(self.purpose, 1)

    def _try_alone(self, mine: Microbatch, losses: Losses) -> None:
        """See that a record fits into memory."""
        if not self.performance.microbatch_size:
            one = peak_of(lambda: self._clipped_sum(mine.part(slice(1)), losses))
            check_fits(one, self.performance, self.gradients.noise_multiplicity)

    def _try(self, mine: Microbatch, losses: Losses) -> None:
        """Refuse losses that mix records; find how many records run at once, if that is not known, and see that they do.

        The memory of one and of two records is counted, that of more follows, and a pass over so many is counted in turn.
        Trial passes release nothing.
        """
        multiplicity = self.gradients.noise_multiplicity
        tried: list[ClippedSum] = []

        def trial(num_records: int) -> int:
            """A pass over so many; the bytes that it takes, which are counted only where they decide how many run at once."""

            def run() -> None:
                tried.append(self._clipped_sum(mine.part(slice(num_records)), losses))

            if self.performance.microbatch_size:
                run()
                return 0
            return peak_of(run)

        one = trial(1)
        check_fits(one, self.performance, multiplicity)
        two = trial(2)
        check_independent(tried[0].losses, tried[1].losses[:multiplicity])
        if self.performance.microbatch_size or self.purpose in self.records_at_once:
            return
        size = records_at_once(one, two, self.performance, multiplicity)
        while size > 2 and not fits(trial(min(size, len(mine.records))), self.performance):
            size //= 2
        self.records_at_once[self.purpose] = self.keep_size(self.purpose, size)

    def _microbatch(self, step: int, records: np.ndarray, places: np.ndarray) -> Microbatch:
        multiplicity = self.gradients.noise_multiplicity
        return Microbatch(step, records, places[records], multiplicity, self.randomness, f"{self.purpose}: draws", self.device)

    def _add(self, clipped: ClippedSum) -> Tensor:
        """Add a microbatch's clipped sum to the step's; the sum over records of their losses."""
        parameters = self.gradients.parameters
        self.optimizer.add_clipped({parameters[name]: gradient for name, gradient in clipped.gradients.items()})
        return clipped.losses.float().sum().to(self.device) / self.gradients.noise_multiplicity

    def _clipped_sum(self, part: Microbatch, losses: Losses) -> ClippedSum:
        def row_losses() -> Tensor:
            with self.performance.autocast(self.device):
                return losses(replace(part))  # with its streams at their beginning, however often it is asked

        return self.gradients.clipped_sum(row_losses, len(part.records), list(zip(self.groups, self.thresholds, strict=True)))


def grouped(parameters: Mapping[str, nn.Parameter], beginnings: Sequence[str | tuple[str, ...]]) -> list[dict[str, nn.Parameter]]:
    """The parameters whose names begin with each of `beginnings`, the first that fits; refuses one that none fits.

    In the order of `parameters`: a sum over a group in an order of addresses would round differently in every process.
    """
    groups: list[dict[str, nn.Parameter]] = [{} for _ in beginnings]
    for name, parameter in parameters.items():
        fitting = [number for number, beginning in enumerate(beginnings) if name.startswith(beginning)]
        if not fitting:
            raise WorkbenchError(f"Expected every parameter in one of the groups {', '.join(map(str, beginnings))}, but {name} is in none.")
        groups[fitting[0]][name] = parameter
    return groups


def check_settings(noise_multiplier: float, thresholds: Sequence[float], expected_batch_size: float) -> None:
    """Refuse settings that no Gaussian mechanism has."""
    if noise_multiplier < 0:
        raise WorkbenchError(f"Expected a noise_multiplier of at least 0, got {noise_multiplier}.")
    if not thresholds or min(thresholds) <= 0:
        raise WorkbenchError(f"Expected a max_grad_norm above 0, got {', '.join(map(str, thresholds))}.")
    if expected_batch_size <= 0:
        raise WorkbenchError(f"Expected an expected_batch_size above 0, got {expected_batch_size}.")


def check_places(places: np.ndarray) -> None:
    """Refuse records that would share their draws, and more of them than a release has room for."""
    if len(places) > MOST_IN_BATCH:
        raise WorkbenchError(f"Expected batches of at most {MOST_IN_BATCH} records, got {len(places)}. Use a smaller batch_size.")
    if len(np.unique(places)) < len(places):
        raise WorkbenchError("Expected each record at most once in a batch, got one twice.")


def check_same_parameters(module: nn.Module, optimized: list[nn.Parameter]) -> None:
    """Refuse an optimiser that would leave a trainable parameter out of the private step, or take one that is not in it."""
    ours = {p for p in module.parameters() if p.requires_grad}
    if ours != set(optimized):
        raise WorkbenchError(
            f"Expected the optimiser to hold the module's {len(ours)} trainable parameters, got {len(optimized)} of which "
            f"{len(ours & set(optimized))} are the module's. Freeze what shall not train with requires_grad_(False)."
        )
