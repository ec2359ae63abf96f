"""An autoencoder from a file: weights as safetensors, which hold numbers and nothing that runs, known by their SHA-256."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from workbench.errors import WorkbenchError
from workbench.models.latents.autoencoder import ScaledAutoencoder
from workbench.models.latents.config import MODULE, ScaledLatents
from workbench.records import Records
from workbench.training.entries import Images
from workbench.training.state import State, Step

BEFORE = f"modules/{MODULE}/"  # of each name in the weights that a run of the workbench exports
SCALE = "scale"


def load_once(settings: ScaledLatents, public: Records | None, state: State) -> Iterator[Step]:
    """The stage that takes the file's weights over; public images, where there are any, decide the scale anew."""
    network, stage = state.modules[MODULE], settings.stage_name
    assert isinstance(network, ScaledAutoencoder)
    if state.steps.get(stage, 0):
        return
    weights = read_tensors(Path(settings.file), settings.sha256)
    check_fit(weights, network, settings)
    network.load_state_dict({SCALE: network.scale} | weights)
    if public is not None:
        network.scale_by(Images(public, state.device))
    state.steps[stage] = 1
    yield Step(stage, 1, 1, private=False)


def read_tensors(path: Path, sha256: str) -> dict[str, Tensor]:
    """The tensors of the file by name, as its bytes had the fingerprint `sha256`; refuses another file, and what is no safetensors."""
    if not path.is_file():
        raise WorkbenchError(f"Expected an autoencoder's weights as safetensors in latents.file, found no file {path}.")
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256:
        raise WorkbenchError(f"Expected a file with the SHA-256 {sha256}, {path} has {digest}. It is another one, or damaged.")
    try:
        tensors = load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise WorkbenchError(f"Expected weights as safetensors in {path}, got a file that is none ({error}).") from None
    exported = {name.removeprefix(BEFORE): tensor for name, tensor in tensors.items() if name.startswith(BEFORE)}
    return exported or tensors


def check_fit(weights: Mapping[str, Tensor], network: ScaledAutoencoder, settings: ScaledLatents) -> None:
    """Refuse weights of another autoencoder than the settings describe, and such that are no finite numbers."""
    expected = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    shapes = {SCALE: ()} | {name: tuple(tensor.shape) for name, tensor in weights.items()}
    for name in sorted(expected.keys() | shapes.keys()):
        if expected.get(name) != shapes.get(name):
            raise WorkbenchError(
                f"Expected the weights of an autoencoder with latents.channels={settings.channels} and latents.width={settings.width} in "
                f"{settings.file}, but {name} has the shape {shapes.get(name, 'of nothing')} and not {expected.get(name, 'of nothing')}."
            )
    if not all(bool(tensor.isfinite().all()) for tensor in weights.values()):
        raise WorkbenchError(f"Expected finite weights in {settings.file}, got others.")
