# pyright: basic
"""Which rule runs which layer of a module, and which layers no rule may run."""

import logging
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm

from workbench.errors import WorkbenchError
from workbench.training.per_record.convolution import ConvolutionRule
from workbench.training.per_record.embedding import EmbeddingRule
from workbench.training.per_record.linear import LinearRule
from workbench.training.per_record.normalization import GroupNormRule, LayerNormRule
from workbench.training.per_record.rules import LayerRule

logger = logging.getLogger(__name__)

RULES: dict[type[nn.Module], LayerRule] = {
    nn.Linear: LinearRule(),
    nn.Conv1d: ConvolutionRule(),
    nn.Conv2d: ConvolutionRule(),
    nn.Conv3d: ConvolutionRule(),
    nn.ConvTranspose1d: ConvolutionRule(),
    nn.ConvTranspose2d: ConvolutionRule(),
    nn.ConvTranspose3d: ConvolutionRule(),
    nn.GroupNorm: GroupNormRule(),
    nn.InstanceNorm1d: GroupNormRule(),
    nn.InstanceNorm2d: GroupNormRule(),
    nn.InstanceNorm3d: GroupNormRule(),
    nn.LayerNorm: LayerNormRule(),
    nn.Embedding: EmbeddingRule(),
}


@dataclass(frozen=True)
class Layer:
    """A module that runs as one piece, by its rule or (None) through `torch.func`."""

    name: str
    module: Any
    rule: LayerRule | None
    parameters: tuple[nn.Parameter, ...]


def piece(name: str, module: nn.Module, rule: LayerRule | None) -> Layer:
    """The layer with the parameters that train in it."""
    return Layer(name, module, rule, tuple(p for p in module.parameters() if p.requires_grad))


def find_layers(module: nn.Module, name: str = "") -> list[Layer]:
    """The pieces that hold all trainable parameters, shared modules once."""
    layers: dict[nn.Module, Layer] = {}
    collect(module, name, layers)
    return list(layers.values())


def frozen_layers(module: nn.Module) -> list[Layer]:
    """The layers that have a rule and nothing to train: they run as ever, on inputs that are checked to be rows."""
    named = [(name, layer) for name, layer in module.named_modules() if has_rule(layer) and "forward" not in layer.__dict__]
    return [piece(name, layer, None) for name, layer in named if not any(p.requires_grad for p in layer.parameters())]


def has_rule(module: nn.Module) -> bool:
    """Whether a rule knows all there is to know of the layer."""
    return type(module) in RULES and is_plain(module)


def collect(module: nn.Module, name: str, pieces: dict[nn.Module, Layer]) -> None:
    """Add the pieces of `module` to `pieces`."""
    if module in pieces or not any(p.requires_grad for p in module.parameters()):
        return
    if "forward" in module.__dict__:
        raise WorkbenchError(
            f"{name or 'The module'} has had its forward replaced, so its per-record gradients are not known. Subclass it."
        )
    own = any(p.requires_grad for p in module.parameters(recurse=False))
    rule = RULES.get(type(module))
    if has_rule(module):
        pieces[module] = piece(name, module, rule)
    elif own or rule is not None or hasattr(module, "parametrizations"):
        logger.warning("%s (%s) has no rule of its own: it goes through torch.func.", name or "module", type(module).__name__)
        pieces[module] = piece(name or "module", module, None)
    else:
        for child_name, child in module.named_children():
            collect(child, f"{name}.{child_name}" if name else child_name, pieces)


def is_plain(module: nn.Module) -> bool:
    """Whether a layer of a known type has nothing about it that its rule does not know."""
    if next(module.children(), None) is not None or set(module._parameters) - {"weight", "bias"}:
        return False
    return not isinstance(module, nn.Embedding) or (module.max_norm is None and not module.scale_grad_by_freq and not module.sparse)


def refuse_mixing_layers(module: nn.Module) -> None:
    """Refuse layers whose output for one record depends on the others, or that keep statistics of the records."""
    for name, layer in module.named_modules():
        normalises_batch = isinstance(layer, _BatchNorm) and not isinstance(layer, _InstanceNorm)
        fixed = not layer.training and getattr(layer, "running_mean", None) is not None  # else it uses the batch's own statistics
        frozen = fixed and not any(p.requires_grad for p in layer.parameters())
        if (normalises_batch and not frozen) or (isinstance(layer, _InstanceNorm) and layer.track_running_stats):
            raise WorkbenchError(
                f"{name or 'The module'} ({type(layer).__name__}) mixes the records of a batch, so no record has a gradient of its own. "
                "Use GroupNorm, or InstanceNorm without running statistics."
            )
        if isinstance(layer, nn.Embedding) and layer.max_norm is not None:
            raise WorkbenchError(f"{name or 'The module'} (Embedding with max_norm) changes its weights as it runs. Set max_norm=None.")
