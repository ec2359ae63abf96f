"""Classifiers that measures train, in 60 steps and once a session: equal records, classes and seeds give equal weights.

Workers of one session share them by files. 60 steps beat chance by far; a test of how well something teaches asks for all of them by
`full_training`. The slow tier trains each anew and in full.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.records import Records

FEW = 60


@pytest.fixture(scope="session", autouse=True)
def classifiers_trained_once(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Have `train_classifier` of the measures take few steps, and look for what it trained before; the number of steps that users have."""
    from workbench.evaluation import downstream, features, learners, semi_supervised

    steps = learners.STEPS
    if request.config.getoption("markexpr") != "not slow":
        yield steps
        return

    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "classifiers"
    folder.mkdir(exist_ok=True)
    remembered = by_files(learners.train_classifier, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learners, "STEPS", FEW)
        for module in (downstream, features, semi_supervised):
            patch.setattr(module, "train_classifier", remembered)
        yield steps


@pytest.fixture
def full_training(classifiers_trained_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Classifiers are trained as users train them."""
    from workbench.evaluation import learners

    monkeypatch.setattr(learners, "STEPS", classifiers_trained_once)


def by_files(train: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """A training of classifiers that keeps in a folder what it found."""
    import torch

    from workbench.evaluation import learners

    def trained(build: Any, records: Records, num_classes: int, seed: int) -> Any:
        parts = (build.__name__, records.records.shape, num_classes, seed, learners.STEPS)
        arrays = (np.ascontiguousarray(records.records), learners.labels_of(records, num_classes))
        key = hashlib.sha256(repr(parts).encode() + b"".join(array.tobytes() for array in arrays)).hexdigest()[:32]
        path = folder / f"{key}.pt"
        if path.exists():
            return learners.restore_classifier(build, tuple(records.records.shape[1:]), num_classes, torch.load(path, weights_only=True))
        classifier = train(build, records, num_classes, seed)
        partial = path.with_suffix(f".{os.getpid()}")
        torch.save(classifier.module.state_dict(), partial)
        partial.replace(path)
        return classifier

    return trained
