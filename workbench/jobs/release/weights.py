"""A run's released weights as safetensors, which hold numbers and nothing that runs."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from workbench.errors import WorkbenchError
from workbench.lazy import torch

if TYPE_CHECKING:
    from workbench.plan import Plan

MODULES, TENSORS = "modules", "tensors"


def packed(part: Mapping[str, Any], about: Mapping[str, str]) -> bytes:
    """A part of a state (`State.part`) under names like `modules/NAME/weight`, with `about` as metadata."""
    from safetensors.torch import save

    tensors = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in _named(part)}
    return save(tensors, metadata=dict(about))


def unpacked(content: bytes) -> tuple["dict[str, torch.Tensor]", dict[str, str]]:
    """The tensors by name, and the metadata; refused where it is no such file."""
    import json

    from safetensors.torch import load

    try:
        tensors = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        return tensors, header.get("__metadata__", {})
    except (SafetensorError, ValueError, RecursionError, KeyError, AttributeError) as error:
        raise WorkbenchError(f"Expected weights as safetensors, got a damaged file ({error}).") from None


def misfit(tensors: "Mapping[str, torch.Tensor]", plan: "Plan") -> str:
    """What keeps these weights from being those of a run of `plan`, by names and shapes; empty if nothing does."""
    from workbench import experiment
    from workbench.training.state import PerformanceSettings

    state = experiment.new_state(plan, PerformanceSettings(device="cpu"))
    released = plan.build().released_parts
    expected = {name: tensor.shape for name, tensor in _named({MODULES: state.part(released)[MODULES], TENSORS: {}})}
    found = {name: tensor.shape for name, tensor in tensors.items() if name.startswith(f"{MODULES}/")}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            return f"{name} is {_shape(found.get(name))} and not {_shape(expected.get(name))}"
    others = sorted(tensors.keys() - found.keys() - {f"{TENSORS}/{name}" for name in released})
    return f"{others[0]} is no part of what {plan.method} releases" if others else ""


def _named(part: Mapping[str, Any]) -> "Iterator[tuple[str, torch.Tensor]]":
    for module, values in part[MODULES].items():
        yield from ((f"{MODULES}/{module}/{name}", tensor) for name, tensor in values.items())
    yield from ((f"{TENSORS}/{name}", tensor) for name, tensor in part[TENSORS].items())


def _shape(shape: "torch.Size | None") -> str:
    return "missing" if shape is None else f"{tuple(shape)}"
