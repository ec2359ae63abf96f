"""Audits of a private step itself: canaries whose gradients are directions of their own, trained in by that step alone.

Nasr et al. (2023) and Steinke et al. (2023) call them gradient or white-box canaries: no record of any dataset tells a step's bound
apart so sharply.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from workbench.privacy.attacks.audit import AuditResult
from workbench.privacy.attacks.canaries import AuditDesign
from workbench.training.private_step import PrivateStep
from workbench.training.row_losses import RowLosses

MakeStep = Callable[[nn.Module, torch.optim.Optimizer], PrivateStep]


def directions(num_canaries: int) -> nn.Module:
    """A model of one weight a canary, all zero: canary i's input is the i-th unit vector."""
    model = nn.Linear(num_canaries, 1, bias=False)
    nn.init.zeros_(model.weight)
    return model


def aimed_losses(model: nn.Module, inputs: Tensor, length: float) -> RowLosses:
    """Losses whose gradient by the model's weights is -`length` times a record's input, whatever the weights are."""
    return RowLosses(model, (inputs,), lambda _part: (), lambda given: (given,), lambda output, _given: -length * output.flatten())


def trained_weights(make_step: MakeStep, inputs: Tensor, steps: int, length: float) -> Tensor:
    """The weights (D,) after `steps` steps by SGD of rate 1 on all records of `inputs` (N, D); those that stay out are left out of it."""
    model = directions(inputs.shape[1])
    step = make_step(model, torch.optim.SGD(model.parameters(), lr=1.0))
    for number in range(1, steps + 1):
        step.step(number, np.arange(len(inputs)), aimed_losses(model, inputs, length))
    return next(model.parameters()).detach().flatten()


def gradient_audit(
    make_step: MakeStep, design: AuditDesign, steps: int, length: float, delta: float
) -> tuple[int, AuditResult, AuditResult]:
    """Correct guesses, and the one-run and f-DP lower bounds, for `steps` steps of `make_step(model, optimizer)` on all that joined.

    A canary's gradient is `length` long before it is clipped.
    """
    joined = torch.from_numpy(np.flatnonzero(design.joined))
    weights = trained_weights(make_step, torch.eye(design.num_canaries)[joined], steps, length)
    return design.judged_guesses(-weights.double().numpy(), delta)
