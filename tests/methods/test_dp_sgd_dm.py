"""DP-SGD DM: dp-promise's settings and stages without its phase one, at all time steps."""

import pytest
from support.quick import quick_dataset, quick_plan
from torch import Tensor, nn

from workbench.diffusion import GaussianDiffusion
from workbench.experiment import fit, new_state
from workbench.methods.dp_sgd_dm.method import claimed
from workbench.models import image_diffusion
from workbench.planning import make_plan
from workbench.training.row_losses import RowLosses


@pytest.mark.parametrize(
    ("preset", "epsilon", "claim"), [("published", 10, 9.937), ("published-1", 1, 0.976), ("published-0.2", 0.2, 0.152)]
)
def test_published_claims(preset: str, epsilon: float, claim: float) -> None:
    """The central limit of the authors' noise stays below the epsilon of their table: phase one took the rest."""
    plan = make_plan("dp-sgd-dm", "mnist", preset=preset)
    whole = make_plan("dp-promise", "mnist", preset=preset)
    assert plan.claim.epsilon == pytest.approx(claim, abs=5e-4)
    assert plan.claim.epsilon < whole.claim.epsilon <= epsilon
    assert plan.bound.status == "proved"
    assert plan.config["training"]["batch_size"] == plan.num_records / 15
    assert plan.config["training"]["steps"] == 750


def test_without_privacy_the_noise_is_next_to_none_and_nothing_else_differs() -> None:
    private, other = (make_plan("dp-sgd-dm", "mnist", preset=name) for name in ("published", "published-infinity"))
    assert other.config["training"].pop("noise_multiplier") == 1e-3
    assert private.config["training"].pop("noise_multiplier") == 1.13
    assert other.config == private.config
    assert other.bound.epsilon > 1e6


def test_formula() -> None:
    """mu = q sqrt(N (e^(1/sigma^2) - 1)) = 1.989898 at the published setting, whose epsilon follows from GDP's delta."""
    value = claimed(sample_rate=1 / 15, steps=750, noise_multiplier=1.13, delta=1e-5)
    assert value.epsilon == pytest.approx(9.937372, abs=1e-6)
    assert value.status == "approximation"


def test_the_private_stage_trains_all_time_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    lasts: list[int] = []
    usual = image_diffusion.row_losses

    def watched(diffusion: GaussianDiffusion, network: nn.Module, batch: tuple[Tensor, ...], last: int) -> RowLosses:
        lasts.append(last)
        return usual(diffusion, network, batch, last)

    monkeypatch.setattr(image_diffusion, "row_losses", watched)
    plan = quick_plan("dp-sgd-dm")
    state = new_state(plan, seed=0)
    for _ in fit(plan, quick_dataset("dp-sgd-dm"), state):
        pass
    assert lasts == [plan.config["diffusion"]["timesteps"]] * 3
    assert state.steps == {"public pre-training": 3, "DP-SGD": 3}
