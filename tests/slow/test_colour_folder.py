"""A folder of 50 000 colour JPEGs: what planning it costs once it was decoded, and how much memory anything on it takes."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages.conftest import app_at, train_in_process
from pages.reading import text_of
from PIL import Image
from support.homes import here
from support.slow_tier import FLOW

from workbench.datasets.base import Dataset
from workbench.datasets.reference import DatasetRef
from workbench.runs.finished import evaluate_run, neighbours_run
from workbench.runs.samples import sample_set

DEPENDS = [
    *FLOW,
    "workbench/records/**",
    "workbench/methods/class_moments/**",
    "workbench/methods/private_evolution/**",
    "workbench/methods/selective_pretraining/**",
    "workbench/models/selection/**",
    "workbench/evaluation/**",
    "workbench/pages/gallery/**",
    "workbench/training/**",
]
CLASSES, EACH, SIDE = 10, 5_000, 32
PLAN_SECONDS, GIB, SAMPLES = 2.0, 4.0, 1_000
VOTES = {"selection.dataset": "processes", "selection.records": 2_000, "selection.candidates": 20, "selection.rounds": 2}
NETWORK = {"network.patch_size": 4, "network.base_channels": 32, "network.channel_multipliers": [1, 2], "network.num_res_blocks": 1}
STEPS = {"pretraining.steps": 20, "selective.steps": 20, "refinement.steps": 5, "refinement.batch_size": 400}
METHODS: dict[str, dict[str, Any]] = {
    "class-moments": {},
    "private-evolution": VOTES,
    "selective-pretraining": VOTES | NETWORK | STEPS | {"network.attention_resolutions": [8]},
}


def draw_folder(root: Path) -> Path:
    """A disc of each class's size and hue on a ground of any colour, at any place: class 0 the smallest."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    for label in range(CLASSES):
        folder = root / f"class{label}"
        folder.mkdir(parents=True)
        generator = np.random.default_rng(label)
        for number in range(EACH):
            place, ground, ink = generator.integers(8, 24, 2), generator.integers(0, 120, 3), generator.integers(140, 256, 3)
            inside = (rows - place[0]) ** 2 + (columns - place[1]) ** 2 <= (2 + label) ** 2
            Image.fromarray(np.where(inside[..., None], ink, ground).astype(np.uint8)).save(folder / f"{label}-{number}.jpg", quality=90)
    return root


def planned(folder: Path) -> float:
    """CPU seconds that `workbench plan` takes, all of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ["plan", "class-moments", "--dataset", str(folder), "--epsilon", "10"]
    subprocess.run(
        [sys.executable, "-c", "from workbench.cli import main; main()", *words], check=True, capture_output=True, env=os.environ
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak() -> float:
    """GiB of this process at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


@pytest.mark.slow(depends=DEPENDS)
@pytest.mark.usefixtures("workbench_home")
def test_fifty_thousand_jpegs_plan_train_and_show_in_little_memory(
    tmp_path: Path, figures: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moments, votes and the joined method, whose networks are small and pass over few batches: memory is what is looked at."""
    monkeypatch.setattr("workbench.server.start.guarded", True)  # the page is drawn without a server
    folder = draw_folder(tmp_path / "photos")
    place, start = DatasetRef.parse(folder), time.process_time()
    dataset: Dataset = place.load()
    figures["decoded (CPU s)"] = f"{time.process_time() - start:.1f}"
    assert (dataset.facts.shape, len(dataset.train) + len(dataset.held_out)) == ((3, SIDE, SIDE), CLASSES * EACH)
    seconds = planned(folder)
    figures["planned when decoded before (CPU s)"] = f"{seconds:.1f}"
    for method, settings in METHODS.items():
        start = time.process_time()
        run = train_in_process(method, dataset, 10.0, place=place, **settings)
        sample_set(here(), run.id).records(SAMPLES)
        evaluate_run(here(), run.id, SAMPLES, metrics=["accuracy_logistic_regression", "frechet_distance"])
        neighbours_run(here(), run.id, num_samples=SAMPLES)
        figures |= {f"{method} (CPU s)": f"{time.process_time() - start:.0f}", f"after {method} (GiB)": f"{peak():.2f}"}
    shown = app_at("gallery").run()
    figures["after the gallery (GiB)"] = f"{peak():.2f}"
    assert not shown.exception
    assert "selective-pretraining" in text_of(shown)
    assert seconds <= PLAN_SECONDS
    assert peak() <= GIB
