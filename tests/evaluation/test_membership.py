"""Scores of membership against models whose answers are known."""

import numpy as np
import pytest
import torch
from support.quick import ALL_METHODS, quick_dataset, quick_plan
from torch import Tensor, nn

from workbench.datasets import load
from workbench.datasets.base import to_unit_range
from workbench.diffusion import GaussianDiffusion
from workbench.diffusion.edm import EDM, EDMConfig
from workbench.diffusion.schedules import NoiseSchedule, linear_betas
from workbench.evaluation.membership import SCORES, label_advantage, loss_score, pia_score, sample_distance, secmi_score
from workbench.experiment import new_state
from workbench.methods import METHODS
from workbench.methods.protocols import Denoising
from workbench.models import denoising
from workbench.models.denoising import Denoiser
from workbench.records import Records
from workbench.training.state import PerformanceSettings

DIFFUSION = GaussianDiffusion(NoiseSchedule(linear_betas()))


def digits(count: int = 120) -> Records:
    return load("digits").train.take(slice(count))


def one_record_model(kept: Tensor) -> Denoiser:
    """The ideal denoiser of a training set of one record."""

    def noise(x_t: Tensor, t: Tensor, _rows: Tensor) -> Tensor:
        signal_scale, noise_scale = DIFFUSION.scales(t, x_t)
        return (x_t - signal_scale * kept) / noise_scale

    return Denoiser(DIFFUSION, noise, torch.device("cpu"))


def test_loss_and_pia_are_nothing_for_what_the_model_knows_by_heart_and_much_for_all_else() -> None:
    data = digits()
    model = one_record_model(torch.from_numpy(to_unit_range(data.records[7:8])))
    for score in (loss_score, pia_score):
        values = score(model, data, 0, lambda _share: None)
        assert values.shape == (120,)
        assert values[7] < 1e-6 * np.median(values)
        assert np.argmin(values) == 7
    error = to_unit_range(data.records) - to_unit_range(data.records[7:8])
    times = [round(share * 1000) for share in (np.arange(10) + 0.5) / 10]
    ratio = [DIFFUSION.schedule.alphas_cumprod[t] / (1 - DIFFUSION.schedule.alphas_cumprod[t]) for t in times]
    expected = np.square(error).reshape(120, -1).mean(axis=1) * np.mean(ratio)
    assert loss_score(model, data) == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_secmi_is_what_a_step_up_and_down_again_changes() -> None:
    """With e(x, t) = t everywhere: x' - x = (e_t - e_u)(a_t b_u / a_u - b_t) for the times t = 90 and u = 100."""
    model = Denoiser(DIFFUSION, lambda x, t, _rows: t.reshape(-1, 1, 1, 1).expand_as(x).to(x), torch.device("cpu"))
    a, b = (np.sqrt(value[[90, 100]]) for value in (DIFFUSION.schedule.alphas_cumprod, 1 - DIFFUSION.schedule.alphas_cumprod))
    expected = ((90 - 100) * (a[0] * b[1] / a[1] - b[0])) ** 2 * 64
    assert secmi_score(model, digits(5)) == pytest.approx([expected] * 5, rel=1e-2)


def test_edm_s_form_predicts_the_noise_that_was_added() -> None:
    edm = EDM(EDMConfig())
    kept = torch.from_numpy(to_unit_range(digits(1).records))

    class ByHeart(nn.Module):
        """F of eq. 7 with D = the record."""

        def forward(self, scaled: Tensor, c_noise: Tensor, _rows: Tensor) -> Tensor:
            sigma = (c_noise * 4 / edm.config.embedding_scale).exp().reshape(-1, 1, 1, 1)
            s, spread = edm.config.sigma_data, (sigma**2 + edm.config.sigma_data**2) ** 0.5
            return (kept - (s / spread) ** 2 * scaled * spread) * spread / (sigma * s)

    class Settings:
        diffusion = EDMConfig()

    state = new_state(quick_plan("dpdm"), PerformanceSettings(device="cpu"))
    model = denoising.of_edm(Settings(), ByHeart(), state)  # type: ignore[arg-type]
    noise, t = torch.randn(1, 1, 8, 8, generator=torch.Generator().manual_seed(0)), torch.tensor([400])
    predicted = model.noise(model.diffusion.add_noise(kept, noise, t), t, torch.tensor([0]))
    assert torch.allclose(predicted, noise, atol=1e-4)


@pytest.mark.parametrize(
    "method", [name for name in ALL_METHODS if isinstance(METHODS.get(name), type) and hasattr(METHODS[name], "denoiser")]
)
def test_every_method_that_offers_a_denoiser_scores_every_record(method: str) -> None:
    plan, data = quick_plan(method), quick_dataset(method).train.take(slice(30))
    built, state = plan.build(), new_state(plan, PerformanceSettings(device="cpu"), seed=0)
    assert isinstance(built, Denoising)
    sources = ("model", "public") if built.has_public_model else ("model",)
    for source in sources:
        model = built.denoiser(state, source)
        for name, score in SCORES.items():
            values = score(model, data, 0, lambda _share: None)
            assert values.shape == (30,), name
            assert np.isfinite(values).all(), name
            assert len(set(values.tolist())) > 20, name


def test_a_label_s_advantage_is_its_score_less_the_mean_of_the_others() -> None:
    data = digits(30)
    assert data.labels is not None

    def by_label(_model: object, records: Records, _seed: int, _report: object) -> np.ndarray:
        assert records.labels is not None
        return records.labels.astype(float)

    model = one_record_model(torch.zeros(1, 1, 8, 8))
    advantages = label_advantage(by_label, model, data, 10, 0, lambda _share: None)
    assert advantages == pytest.approx(data.labels - (45 - data.labels) / 9)


def test_the_distance_to_samples_is_to_those_of_the_same_label() -> None:
    facts, data = load("digits").facts, digits(40)
    assert data.labels is not None
    zeros = sample_distance(facts, data, data.take(slice(10)))
    assert (zeros == 0).all()
    others = Records(data.records, (data.labels + 1) % 10)
    assert (sample_distance(facts, others, data.take(slice(10))) > 0).all()
