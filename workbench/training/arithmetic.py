"""How this process computes, to the bit: a fixed private pass through the networks' layers, and a few draws of noise.

Settings that no library reports (the instruction set or the reproducibility asked of a math library by an environment
variable, say) change what a step computes in its last bits. A digest of this pass tells.
"""

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from workbench.datasets.base import DatasetFacts
from workbench.networks import UNETS, UNet, UNetConfig, initialized
from workbench.training.per_record import PerRecordGradients
from workbench.training.per_record.rules import multiplies_exactly
from workbench.training.randomness import Randomness
from workbench.training.state import PerformanceSettings

SMALL = (UNETS["tiny"], (1, 8, 8), 3)  # convolutions, linear layers, group norms, embeddings, attention
RECORDS, ROWS = 4, 2
PRIME = 65521


def arithmetic(performance: PerformanceSettings, facts: DatasetFacts, modules: Iterable[nn.Module]) -> str:
    """16 hex digits: equal where a small U-Net, and the run's own at its records' shape, give the same bits as here.

    Empty on a GPU, where no step is repeated bit for bit anyway.
    """
    if performance.torch_device().type != "cpu":
        return ""
    networks = [SMALL, *((module.config, facts.shape, facts.num_classes) for module in modules if type(module) is UNet)]
    settings = performance.model_dump_json(include={"precision", "channels_last"})
    state = (torch.get_num_threads(), multiplies_exactly(torch.device("cpu")), torch.backends.mkldnn.is_available())
    digest = hashlib.sha256(draws())
    for config, shape, num_classes in dict.fromkeys(networks):
        digest.update(probe(config, shape, num_classes, settings, state))
    return digest.hexdigest()[:16]


def draws() -> bytes:
    """Noise of a fixed key: numpy's logarithm, by which it is made, depends on the processor's instructions too."""
    stream = Randomness.from_seed(0).stream("arithmetic")
    return stream.standard_normal(4096).tobytes() + stream.floored_normal(4096).tobytes()


@cache
def probe(config: UNetConfig, shape: tuple[int, ...], num_classes: int, settings: str, _state: tuple[object, ...]) -> bytes:
    """Digest of losses, norms and clipped sum of a pass over fixed images in fixed weights, at the run's precision and layout.

    `settings` are performance settings as JSON; `_state` is torch's own, by which results are kept apart.
    """
    performance = PerformanceSettings.model_validate_json(settings)
    network = initialized(lambda: UNet(config, shape[0], (shape[1], shape[2]), num_classes), torch.Generator())
    network.to(memory_format=performance.memory_format)  # pyright: ignore[reportCallIssue]
    with torch.no_grad():
        for number, parameter in enumerate(network.parameters()):
            parameter.copy_(fixed_values(tuple(parameter.shape), number) * (3.0 / max(parameter[0].numel(), 16)) ** 0.5)
    rows = RECORDS * ROWS
    images, times = fixed_values((rows, *shape), PRIME // 2), 1 + 7 * torch.arange(rows)
    labels = torch.arange(rows) % (num_classes + 1) if num_classes else None

    def losses() -> Tensor:
        with performance.autocast(images.device):
            return (network(images, times, labels) - images).square().flatten(1).mean(1)

    clipped = PerRecordGradients(network, ROWS).clipped_sum(losses, RECORDS, 0.1)
    return digest_of([clipped.losses, clipped.norms, *clipped.gradients.values()])


def digest_of(values: Iterable[Tensor]) -> bytes:
    """SHA-256 of the tensors' bits."""
    digest = hashlib.sha256()
    for piece in _bytes(values):
        digest.update(piece)
    return digest.digest()


def _bytes(values: Iterable[Tensor]) -> Iterator[bytes]:
    for value in values:
        yield value.detach().float().contiguous().numpy().tobytes()


def fixed_values(shape: tuple[int, ...], salt: int) -> Tensor:
    """Values in [-1, 1) that no processor rounds: multiples of 2^-15."""
    index = np.arange(np.prod(shape), dtype=np.int64)
    spread = (index * 48271 + salt * 40503) % PRIME % 2**15
    return torch.from_numpy((spread / 2**14 - 1).astype(np.float32).reshape(shape))
