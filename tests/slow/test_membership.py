"""Attacks on membership at full size: what a model that knows its records by heart gives away."""

from typing import Any

import pytest
from support.slow_tier import DDPM

from workbench import experiment
from workbench.datasets import Dataset, load
from workbench.evaluation.attacks import judged
from workbench.evaluation.membership import SCORES, ignored

SETTINGS = {
    "network.base_channels": 16,
    "network.channel_multipliers": (1, 2),
    "network.num_res_blocks": 1,
    "training.steps": 6000,
    "training.batch_size": 50,
    "training.learning_rate": 2e-3,
    "ema_decay": 0.99,
    "label_dropout": 0.0,
}


@pytest.mark.slow(
    depends=[*DDPM, "workbench/methods/nonprivate/**", "workbench/evaluation/attacks.py", "workbench/evaluation/membership.py"]
)
def test_an_overfitted_model_of_500_records_is_told_from_chance(figures: dict[str, Any]) -> None:
    """600 passes over 500 digits, without privacy; 500 other digits are the non-members. The score, loss, was fixed beforehand."""
    digits = load("digits")
    facts = digits.facts.model_copy(update={"num_records": 500})
    data = Dataset(facts, digits.train.take(slice(500)), digits.train.take(slice(500, 1000)))
    plan = experiment.make_plan("nonprivate", facts, settings=SETTINGS)
    state = experiment.new_state(plan, seed=0)
    for _ in experiment.fit(plan, data, state):
        pass
    method = plan.build()
    denoiser = method.denoiser(state)  # type: ignore[attr-defined]
    for name, score in SCORES.items():
        members, others = (score(denoiser, side, 0, ignored) for side in (data.train, data.held_out))
        found = judged(name, members, others)
        rates = ", ".join(f"{point.tpr[0]:.3f} at {point.aim:g}" for point in found.points)
        figures[name] = f"AUC {found.auc:.3f} ({found.interval[0]:.3f} to {found.interval[1]:.3f}); true-positive rate {rates}"
        if name == "loss":
            assert found.interval[0] > 0.7
