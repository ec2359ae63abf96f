"""What the benchmark compares is the same step: all private variants move the network alike."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks import private_step, results, variants
from benchmarks.limits import limit_row, print_limits


def moved(name: str, noise_multiplicity: int) -> Tensor:
    """How far one noiseless step of a small network moves its parameters."""
    torch.manual_seed(0)
    variant = variants.VARIANTS[name](8, 8, noise_multiplicity, 4)
    before = [p.detach().clone() for p in variant.network.parameters()]
    variant.gradient()
    variant.finish()
    return torch.cat([(b - p.detach()).flatten() for b, p in zip(before, variant.network.parameters(), strict=True)])


@pytest.fixture(autouse=True)
def _sgd_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "NOISE_MULTIPLIER", 0.0)
    monkeypatch.setattr(torch.optim, "Adam", lambda parameters, lr: torch.optim.SGD(parameters, lr=1.0))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("noise_multiplicity", [1, 2])
def test_all_private_variants_take_the_same_step(noise_multiplicity: int) -> None:
    expected = moved("torch.func", noise_multiplicity)
    assert expected.norm() > 0
    names = ["ours", "opacus hooks", "opacus functorch", *(["opacus ghost"] if noise_multiplicity == 1 else [])]
    for name in names:
        assert (moved(name, noise_multiplicity) - expected).norm() <= 1e-3 * expected.norm(), name


def test_ordinary_variants_take_the_same_step() -> None:
    expected = moved("not private", 2)
    for name in ("not private, microbatches", "not private, channels last"):
        assert (moved(name, 2) - expected).norm() <= 1e-4 * expected.norm(), name


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    times = {
        "seconds": {
            "not private": [(1.0, 2.0), (1.0, 2.0), (2.0, 4.0)],
            "ours": [(1.1, 2.2), (1.2, 2.2), (2.0, 4.4)],
            "opacus hooks": [(2.0, 4.0), (2.0, 4.0), (2.0, 4.0)],
        },
        "parameters": 5,
        "notes": {"not private": "", "ours": "a note", "opacus hooks": ""},
    }
    peaks = {"not private": (80, 100), "ours": (80, 140), "opacus hooks": (200, 300)}
    return list(private_step.as_rows(times, peaks, {"noise_multiplicity": 8, "images": 16}))


def test_rows_hold_every_variant_and_part(rows: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    private_step.print_rows("1.6M", rows)
    whole = rows[4]
    assert [row["variant"] for row in rows] == ["not private", "ours", "opacus hooks"] * 2
    assert (whole["records"], whole["seconds_per_image"], whole["ratio_to_not_private"]) == (2, 2.2 / 16, pytest.approx(1.1))
    assert whole["peak_to_not_private"] == pytest.approx(1.4)
    assert "a note" in capsys.readouterr().out


def test_a_missed_limit_is_said(rows: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    limits = private_step.limits_of("1.6M", rows)
    assert [(row["value"], row["limit"], row["met"]) for row in limits] == [
        (pytest.approx(1.1), 1.15, True),
        (pytest.approx(0.55), 0.6, True),
        (pytest.approx(1.4), 1.35, False),
    ]
    print_limits("A title", limits)
    assert capsys.readouterr().out.count("MISSED") == 1
    machine = {"processor": "a processor", "cpu_capability": "AVX2", "threads": 2, "torch": "2.13.0"}
    results.renew(tmp_path / "results.json", rows, limits, machine)
    text = (tmp_path / "results.md").read_text()
    assert text.count("**missed**") == 1
    assert "| ours | 75.00 | 1.10 (1.00 to 1.20) |" in text
    assert "\nours: a note.\n" in text


def test_at_four_samples_a_record_only_the_rival_is_a_limit(rows: list[dict[str, Any]]) -> None:
    limits = private_step.limits_of("1.6M", [row | {"noise_multiplicity": 4} for row in rows])
    assert [row["variant"] for row in limits] == ["seconds, ours over Opacus's hooks"]


def test_what_is_measured_anew_takes_the_place_of_what_was_and_the_rest_stays(
    rows: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, machine = tmp_path / "results.json", {"processor": "a", "cpu_capability": "AVX2", "threads": 2, "torch": "2.13.0"}
    monkeypatch.setattr(results, "commit", lambda: "first")
    results.renew(out, rows, private_step.limits_of("1.6M", rows), machine)
    results.renew(out, limits=[limit_row("neighbours", "ratio", [1.0], 1.6), limit_row("neighbours", "memory", [1.0], 2.0)])
    monkeypatch.setattr(results, "commit", lambda: "second")
    results.renew(out, limits=[limit_row("neighbours", "ratio", [2.0], 1.6)])
    written = json.loads(out.read_text())
    assert written["machine"] == machine
    assert len(written["rows"]) == len(rows)
    last = [(row["variant"], row["value"], row["commit"]) for row in written["limits"][-2:]]
    assert last == [("ratio", 2.0, "second"), ("memory", 1.0, "first")]
    assert "| neighbours | ratio | 2 | 1.6 | **missed** | second |" in out.with_suffix(".md").read_text()
    results.renew(out, rows[:2], [], machine | {"processor": "b"})
    written = json.loads(out.read_text())
    assert len(written["rows"]) == 2
    assert {row["benchmark"] for row in written["limits"]} == {"neighbours"}, "ratios of two machines do not stand in one table"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_benchmark_runs_from_the_command_line(tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    options = ["--networks=1.6M", "--noise-multiplicities=8", "--variants=ours", "--rounds=1", "--only=private-step", f"--out={out}"]
    subprocess.run([sys.executable, "-m", "benchmarks", *options], check=True)
    assert {row["variant"] for row in json.loads(out.read_text())["rows"]} == {"not private", "ours"}
