"""What a declaration leaves of columns, by hand and on a skewed one; and the noise that is told beside the noise that is drawn."""

from pathlib import Path

import numpy as np
import pytest
from support.tables import uneven_table
from typer.testing import CliRunner

from workbench import datasets, experiment
from workbench.cli.commands import app
from workbench.datasets.declaration import DeclaredColumn, TableDeclaration
from workbench.datasets.proposal import propose_column
from workbench.evaluation.declared_columns import noise_shares, report, survival
from workbench.training.marginals import one_way, sizes_of


def test_what_survives_by_hand() -> None:
    merged = DeclaredColumn(name="town", categories=("a", "b"), other="other")
    survived = survival(merged, {"a": 2, "b": 2, "c": 2, "d": 2}, "people")
    assert (survived.bits, survived.of_bits, survived.order) == (1.5, 2.0, None)
    halves = DeclaredColumn(name="size", edges=(0, 2, 4), missing="none")
    survived = survival(halves, {"0": 1, "1": 1, "2": 1, "3.0": 1, "": 4}, "people")
    assert survived.order == pytest.approx(4 / 5), "ranks .5 to 3.5: two halves keep 1 of 1.25, what is missing aside"
    assert survived.bits == 1.5
    ties = survival(DeclaredColumn(name="size", edges=(0, 2, 4)), {"0": 2, "1": 1, "2": 1}, "people")
    assert ties.order == pytest.approx(2 / 3), "ranks 1, 1, 2.5, 3.5: 3 of 4.5"
    assert survival(DeclaredColumn(name="size", edges=(0, 1, 2)), {"1": 3}, "people").order is None


def test_five_equal_ranges_lose_a_skewed_column_and_the_proposal_keeps_it() -> None:
    gains = np.random.default_rng(0).lognormal(8, 1, 40).round()
    texts = {"0": 460} | {f"{gain:.0f}": 1 for gain in gains}
    high = gains.max()
    equal = DeclaredColumn(name="gain", edges=tuple(np.linspace(0, high, 6).tolist()))
    kept, lost = (survival(column, texts, "people") for column in (propose_column("gain", texts), equal))
    assert lost.order is not None
    assert kept.order is not None
    assert lost.order < 0.6
    assert kept.order > 0.95


def test_the_noise_told_is_the_noise_drawn(tmp_path: Path) -> None:
    dataset = datasets.load(uneven_table(tmp_path))
    stated = list(noise_shares(dataset.facts, 0.2).values())
    plan, drawn = experiment.make_plan("independent-marginals", dataset.facts, epsilon=0.2), []
    assert dataset.train.labels is not None
    rows = np.column_stack([dataset.train.records, dataset.train.labels])
    sizes = sizes_of(dataset.facts)
    starts = np.cumsum([0, *sizes[:-1]])
    for seed in range(40):
        state = experiment.new_state(plan, seed=seed)
        for _ in experiment.fit(plan, dataset, state):
            pass
        away = np.abs(state.tensors["one_way"].cpu().numpy() - one_way(rows, sizes))
        drawn.append(np.add.reduceat(away, starts) / 2 / len(rows))
    assert np.mean(drawn, axis=0) == pytest.approx(stated, rel=0.25)
    assert list(noise_shares(dataset.facts, 0.2)) == ["hours", "sex", "degree", "income"]


def test_the_command_tells_it_of_every_column(tmp_path: Path) -> None:
    path = uneven_table(tmp_path)
    declared = path.with_suffix(".declared.json")
    ran = CliRunner().invoke(app, ["declare", str(path), "--check", str(declared), "--epsilon", "2"], catch_exceptions=False)
    assert "do not share it" in ran.stderr
    assert "noise at epsilon 2" in ran.stdout
    (hours, *_, income) = report(path, TableDeclaration.parse(str(declared)), 2.0)
    assert hours["bits"] == hours["bits in the file"]
    assert income["bits in the file"] == pytest.approx(-(0.24 * np.log2(0.24) + 0.76 * np.log2(0.76)), abs=0.005)
