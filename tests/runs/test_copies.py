"""What a set of samples tells of copying: planted copies are told as such, and the numbers are kept and private."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from support.homes import here
from support.launchers import Here

from workbench.cli import main
from workbench.cli.attacks import print_copies
from workbench.datasets import load
from workbench.datasets.reference import DatasetRef
from workbench.evaluation import learners
from workbench.evaluation.copying import scores_by_class
from workbench.evaluation.feature_files import feature_name
from workbench.jobs.launchers import LAUNCHERS
from workbench.runs import copies
from workbench.runs.samples.imported import import_samples

PLANTED, TIMES = 3, 8


@pytest.fixture
def imported(tmp_path: Path) -> str:
    """Three training digits eight times each, faintly noisy, and 60 held-out ones."""
    digits, noise = load("digits"), np.random.default_rng(0)
    planted = np.tile(digits.train.records[:PLANTED], (TIMES, 1, 1, 1)).astype(int)
    planted = np.clip(planted + noise.integers(-2, 3, planted.shape), 0, 255).astype(np.uint8)
    images = np.concatenate([planted, digits.held_out.records[:60]])
    labels = np.arange(len(images)) % 10
    np.savez(tmp_path / "samples.npz", images=images.transpose(0, 2, 3, 1), labels=labels)
    return import_samples(here(), tmp_path / "samples.npz", DatasetRef(name="digits")).owner


def test_planted_copies_are_told(imported: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(learners, "STEPS", 60)
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    with pytest.raises(SystemExit) as ended:
        main(["copies", imported, "--json"])
    assert ended.value.code == 0
    printed = capsys.readouterr()
    assert "outside the privacy guarantee" in printed.err
    measures = json.loads(printed.out)
    assert {row["record"]: row["samples"] for row in measures["extracted"]} == dict.fromkeys(range(PLANTED), TIMES)
    assert measures["duplicates"]["among_samples"]["samples"] >= PLANTED * TIMES
    assert measures["duplicates"]["among_training_records"]["records"] >= 0
    assert measures["near"]["held_out"] >= 60, "held-out records are near themselves"
    assert measures["ratios"]["training"] > measures["ratios"]["held_out"] == 0.0
    whole, *classes = measures["privacy_score"]
    assert (whole["class"], whole["samples"]) == ("all", 84)
    assert sum(row["samples"] for row in classes) == 84
    assert whole["score"] < 0.3 < whole["baseline"]
    assert measures["releasable"] is False
    monkeypatch.setattr(copies, "_copy_measures", lambda *_: pytest.fail("it was made again"))
    assert copies.copies_run(here(), imported) == measures
    with pytest.raises(SystemExit):
        main(["copies", imported])
    assert "p " in capsys.readouterr().out


class Alike(torch.nn.Module):
    """Features in which all images are one, as a network may make of training records what it likes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(x.shape[0], 2)


def test_nearness_is_told_in_pixels_where_training_records_may_have_made_the_features(
    imported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(learners, "STEPS", 2)
    torch.jit.script(Alike()).save(str(tmp_path / "alike.pt"))
    spaces = ["pixels", *(feature_name(str(tmp_path / "alike.pt"), public=public) for public in (False, True))]
    plain, private, public = (copies.copies_run(here(), imported, features=name) for name in spaces)
    assert (private["near"], private["distance"]) == (plain["near"], 0.0)
    assert (public["near"]["training"], public["near"]["held_out"]) == (84, 84)
    print_copies(private)
    assert f"in {plain['features']}, as training records may have made the features" in " ".join(capsys.readouterr().out.split())


def test_a_score_s_baseline_is_what_redrawn_classes_give() -> None:
    generator = np.random.default_rng(1)
    judged, neighbours = generator.integers(0, 3, 600), np.where(generator.random(600) < 0.5, 0, generator.integers(0, 3, 600))
    rows = scores_by_class(judged, neighbours, ("a", "b", "c"))
    redrawn = [float(np.mean(generator.permutation(judged) != neighbours)) for _ in range(400)]
    assert rows[0]["baseline"] == pytest.approx(np.mean(redrawn), abs=0.005)
    assert [row["class"] for row in rows] == ["all", "a", "b", "c"]
    assert sum(row["score"] * row["samples"] for row in rows[1:]) / 600 == pytest.approx(rows[0]["score"])
    collapsed = scores_by_class(np.zeros(600, int), neighbours, ("a", "b", "c"))
    assert len(collapsed) == 2
    assert collapsed[0]["score"] == pytest.approx(collapsed[0]["baseline"]), "a collapse scores as its baseline"
