"""An autoencoder from a file: by its fingerprint alone, named in plan and stages, and only where it fits."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save
from support.quick import QUICK

from workbench import experiment
from workbench.datasets import Dataset, load
from workbench.errors import WorkbenchError
from workbench.models.latents.autoencoder import ScaledAutoencoder
from workbench.models.latents.config import MODULE, ScaledLatents
from workbench.plan import Plan
from workbench.planning import make_plan

SETTINGS = QUICK["dp-ldm"] | {"latents.channels": 2, "latents.width": 4, "network.channel_multipliers": (1,)}


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load("digits", (1, 16, 16))


def weights() -> dict[str, torch.Tensor]:
    torch.manual_seed(3)
    return {name: value for name, value in ScaledAutoencoder(2, 1, 4).state_dict().items() if name != "scale"}


def written(folder: Path, content: bytes) -> tuple[str, str]:
    path = folder / "coder.safetensors"
    path.write_bytes(content)
    return str(path), hashlib.sha256(content).hexdigest()


def plan_of(digits: Dataset, file: str, sha256: str, **settings: Any) -> Plan:
    return make_plan("dp-ldm", digits.facts, epsilon=10.0, settings=SETTINGS | {"latents.file": file, "latents.sha256": sha256} | settings)


@pytest.mark.parametrize("before", ["", "modules/autoencoder/"])
def test_a_file_is_loaded_once_and_plan_and_stages_name_it(digits: Dataset, tmp_path: Path, before: str) -> None:
    file, sha256 = written(tmp_path, save({before + name: value for name, value in weights().items()}))
    plan = plan_of(digits, file, sha256)
    first = plan.stages[0]
    assert (first.spent, first.steps) == ("free", 1)
    assert "coder.safetensors" in first.name
    assert sha256 in first.name
    assert "user's word" in first.reason
    assert plan.config["latents"]["sha256"] == sha256
    state = experiment.new_state(plan, seed=0)
    steps = [(step.stage, step.step) for step in experiment.fit(plan, digits, state)]
    assert steps[:2] == [(first.name, 1), ("public pre-training", 1)]
    for name, value in weights().items():
        assert torch.equal(state.modules[MODULE].state_dict()[name], value), name
    assert float(state.modules[MODULE].get_buffer("scale")) != 1, "of public images"
    Path(file).unlink()
    assert list(experiment.fit(plan, digits, state)) == [], "a run that goes on has its weights"


def test_a_file_of_another_fingerprint_is_refused_before_it_is_read(digits: Dataset, tmp_path: Path) -> None:
    file, sha256 = written(tmp_path, save(weights()))
    Path(file).write_bytes(Path(file).read_bytes()[:-1] + b"x")
    with pytest.raises(WorkbenchError, match=f"Expected a file with the SHA-256 {sha256}"):
        next(experiment.fit(plan := plan_of(digits, file, sha256), digits, experiment.new_state(plan, seed=0)))


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"no weights at all", "is none"),
        (save({name: value for name, value in weights().items() if "encoder.0" not in name}), "encoder.0.bias has the shape of nothing"),
        (save(weights() | {"more": torch.zeros(2)}), "more has the shape"),
        (save(ScaledAutoencoder(3, 1, 4).state_dict()), "latents.channels=2"),
        (save({name: value * float("nan") for name, value in weights().items()}), "finite"),
    ],
)
def test_what_does_not_fit_is_refused(digits: Dataset, tmp_path: Path, content: bytes, word: str) -> None:
    plan = plan_of(digits, *written(tmp_path, content))
    spent: list[str] = []
    state = experiment.new_state(plan, seed=0, spend=lambda stage, _step: spent.append(stage))
    with pytest.raises(WorkbenchError, match=word):
        next(experiment.fit(plan, digits, state))
    assert spent == []


def test_file_and_fingerprint_come_together_and_make_latents(digits: Dataset) -> None:
    for values in ({"file": "a.safetensors"}, {"sha256": "0" * 64}):
        with pytest.raises(ValueError, match="is loaded by its SHA-256 alone"):
            ScaledLatents.model_validate(values)
    with pytest.raises(ValueError, match="sha256"):
        ScaledLatents.model_validate({"file": "a.safetensors", "sha256": "abc"})
    with pytest.raises(WorkbenchError, match=r"latents\.channels=4"):
        plan_of(digits, "a.safetensors", "0" * 64, **{"latents.channels": 0})
