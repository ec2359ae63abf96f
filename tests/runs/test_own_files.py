"""Runs on files of one's own: the same records at every step, one account for all their versions, a word where two hold the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.homes import here
from support.launchers import Nowhere
from support.quick import QUICK

from workbench import datasets, experiment, runs
from workbench.errors import AccountWarning
from workbench.jobs.launchers import LAUNCHERS
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.samples.imported import import_samples
from workbench.runs.store import RunStore
from workbench.runs.trained import dataset_of
from workbench.serialization import dumps
from workbench.tasks import worker
from workbench.training.state import PerformanceSettings

Train = Callable[..., Run]


def write(path: Path, images: np.ndarray) -> str:
    np.savez(path, images=images, labels=np.arange(len(images)) % 2)
    return str(path)


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(0).integers(256, size=(60, 8, 8, 1), dtype=np.uint8)


@pytest.fixture
def train() -> Train:
    """`train(path, **reading)`: a finished DP-MERF run on the file."""

    def make(path: str, **reading: Any) -> Run:
        loaded = datasets.load(path, classes=("a", "b"), **reading)
        plan = experiment.make_plan(
            "dp-merf", loaded.facts, epsilon=10.0, settings=QUICK["dp-merf"] | {"training.steps": 2, "training.batch_size": 8}
        )
        run = runs.register(here(), plan, path, performance=PerformanceSettings(device="cpu", num_threads=1), loaded=loaded)
        RunStore(here()).change(run.id, {"queued"}, "started", state="starting", attempt=1)
        worker.main(here(), run.id)
        return RunStore(here()).get(run.id)

    return make


def test_one_bit_or_a_shuffle_opens_no_fresh_account(tmp_path: Path, images: np.ndarray, train: Train) -> None:
    first = train(write(tmp_path / "scans.npz", images))
    images[0, 0, 0, 0] ^= 1
    second = train(write(tmp_path / "scans.npz", images))
    third = train(write(tmp_path / "moved.npz", images[::-1]), name="scans")
    entries = Ledger(here().ledger).entries("scans")
    assert [entry.run_id for entry in entries] == [first.id, second.id, third.id]
    assert len({entry.fingerprint for entry in entries}) == 3
    assert (
        Ledger(here().ledger).total("scans").epsilon
        > Ledger(here().ledger).total("scans", [first.id, second.id]).epsilon
        > second.bound.epsilon / 2
    )


def test_the_same_records_under_another_name_are_warned_of(tmp_path: Path, images: np.ndarray, train: Train) -> None:
    train(write(tmp_path / "scans.npz", images))
    with pytest.warns(AccountWarning, match=r"'others' under no other name, got much the same under 'scans' \(84%\)"):
        train(write(tmp_path / "others.npz", images[::-1]), seed=0)


def test_a_run_and_its_clone_see_the_records_as_they_were_planned(
    tmp_path: Path, images: np.ndarray, train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train(write(tmp_path / "scans.npz", images), name="clinic A", shape=(1, 6, 6))
    assert run.state == "done", run.error
    again = dataset_of(here(), run)
    assert (again.facts.name, again.facts.shape, again.facts.classes) == ("clinic A", (1, 6, 6), ("a", "b"))
    assert again.fingerprint(here().key) == run.fingerprint
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    cloned = runs.clone(here(), run.id, {"training.learning_rate": 0.5})
    assert (cloned.plan.facts, cloned.fingerprint) == (run.plan.facts, run.fingerprint)
    assert Ledger(here().ledger).entries("clinic A")[0].run_id == run.id


def test_what_goes_with_samples_names_the_account_and_no_path(tmp_path: Path, images: np.ndarray, train: Train) -> None:
    run = train(write(tmp_path / "scans.npz", images), name="clinic A")
    samples = sample_set(here(), run.id)
    imported = import_samples(here(), tmp_path / "scans.npz", run.plan.request.place)
    for one in (samples, imported):
        notes = one.notes()
        assert notes["dataset"] == "clinic A"
        assert str(tmp_path) not in dumps(notes)
