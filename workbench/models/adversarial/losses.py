"""What critic and generator make small: binary cross-entropy, hinge, or the Wasserstein distance's dual."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from workbench.models.adversarial.config import AdversarialLoss

# scores (B,), and whether each is of a record, bool (B,) -> the critic's loss of each, (B,)
CRITIC_LOSSES: dict[AdversarialLoss, Callable[[Tensor, Tensor], Tensor]] = {
    "bce": lambda scores, real: functional.softplus(signed(scores, real)),
    "hinge": lambda scores, real: functional.relu(1.0 + signed(scores, real)),
    "wasserstein": lambda scores, real: signed(scores, real),
}
# scores (B,) of generated images -> the generator's loss of each, (B,); for cross-entropy the one that does not saturate
GENERATOR_LOSSES: dict[AdversarialLoss, Callable[[Tensor], Tensor]] = {
    "bce": lambda scores: functional.softplus(-scores),
    "hinge": lambda scores: -scores,
    "wasserstein": lambda scores: -scores,
}


def signed(scores: Tensor, real: Tensor) -> Tensor:
    """Scores (B,) that a critic makes small: less those of records, those of generated images as they are."""
    return torch.where(real, -scores, scores)
