"""DP-Diffusion: where its time steps come from, what a record's K draws come to, and what is trained."""

import numpy as np
import pytest
import torch
from support.quick import quick_dataset, quick_plan
from torch.nn import functional

from workbench import networks
from workbench.datasets import facts
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state
from workbench.methods.dp_diffusion import FINE_TUNING, DPDiffusionConfig
from workbench.methods.dp_diffusion.method import TimestepMixture
from workbench.methods.dp_diffusion.training import augmented_image, augmented_losses
from workbench.planning import make_plan
from workbench.training.microbatch import Microbatch
from workbench.training.per_record import PerRecordGradients
from workbench.training.randomness import Randomness


def test_each_interval_gets_its_weight_spread_evenly() -> None:
    probabilities = TimestepMixture().probabilities(1000)
    assert probabilities.shape == (1000,)
    assert np.allclose([probabilities[:30].sum(), probabilities[30:600].sum(), probabilities[600:].sum()], [0.015, 0.785, 0.2])
    assert [len(set(part)) for part in np.split(probabilities, [30, 600])] == [1, 1, 1]
    assert np.allclose(TimestepMixture(ends=(1.0,), weights=(1.0,)).probabilities(7), 1 / 7)


@pytest.mark.parametrize(
    "values", [{"ends": (0.5, 1.0), "weights": (1.0,)}, {"ends": (0.5,), "weights": (1.0,)}, {"ends": (0.5, 1.0), "weights": (0.5, 0.6)}]
)
def test_what_is_no_mixture_is_refused(values: dict[str, tuple[float, ...]]) -> None:
    with pytest.raises(ValueError, match="Expected"):
        TimestepMixture.model_validate(values)


def test_an_interval_without_a_time_step_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(WorkbenchError, match="leave one empty"):
        quick_plan("dp-diffusion", overrides={"diffusion.timesteps": 10, "diffusion.schedule": "cosine"})


def test_a_draw_is_mirrored_and_then_cropped() -> None:
    image = torch.arange(12.0).view(1, 1, 3, 4)
    for flip, down, right in ((0, 0, 0), (1, 0, 0), (0, 1, -2), (1, -1, 1)):
        padded = functional.pad(image.flip(-1) if flip else image, (2, 2, 2, 2), mode="replicate")
        expected = padded[:, :, 2 + down : 5 + down, 2 + right : 6 + right]
        assert torch.equal(augmented_image(image, torch.tensor([bool(flip)]), torch.tensor([down]), torch.tensor([right])), expected)


def parts(
    config: DPDiffusionConfig, records: int, multiplicity: int
) -> tuple[networks.UNet, Microbatch, tuple[torch.Tensor, torch.Tensor]]:
    """A network without zeros, a microbatch, and images with their label rows."""
    torch.manual_seed(0)
    network = networks.UNet(config.network, 1, 8, 10)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    batch = (torch.rand(records, 1, 8, 8) * 2 - 1, torch.arange(1, records + 1))
    part = Microbatch(1, np.arange(records), np.arange(records), multiplicity, Randomness.from_seed(0), "draws", torch.device("cpu"))
    return network, part, batch


def test_the_augmented_gradient_is_the_mean_of_its_parts() -> None:
    """One pass over 2 x 4 rows against a pass a draw, each of whose gradients autograd gives by itself."""
    config = DPDiffusionConfig.model_validate(quick_plan("dp-diffusion").config)
    network, part, batch = parts(config, records=2, multiplicity=4)
    losses = augmented_losses(config, network, batch)
    gradients = PerRecordGradients(network, 4)
    whole = set(gradients.parameters.values())
    for record in (0, 1):
        alone = Microbatch(1, np.array([record]), np.array([record]), 4, part.randomness, "draws", part.device)
        summed = gradients.clipped_sum(lambda alone=alone: losses(alone), 1, [(whole, 1e9)]).gradients
        drawn = losses.draw(Microbatch(1, np.array([record]), np.array([record]), 4, part.randomness, "draws", part.device))
        assert len({tuple(int(values[k]) for values in drawn[:4]) for k in range(4)}) > 1, "draws of their own"
        total = {name: torch.zeros_like(value) for name, value in network.named_parameters()}
        for k in range(4):
            row = [values[k : k + 1] for values in (*(value[record].expand(4, *value.shape[1:]) for value in batch), *drawn)]
            loss = losses.loss(network(*losses.inputs(*row)), *row).sum()
            for (name, _), gradient in zip(network.named_parameters(), torch.autograd.grad(loss, list(network.parameters())), strict=True):
                total[name] += gradient / 4
        for name, expected in total.items():
            assert torch.allclose(summed[name], expected, rtol=1e-3, atol=1e-5), name


def test_time_steps_are_drawn_from_the_mixture() -> None:
    config = DPDiffusionConfig()
    network, part, batch = parts(config, records=10, multiplicity=2000)
    _, _, _, times, _ = augmented_losses(config, network, batch).draw(part)
    assert 1 <= int(times.min()) <= int(times.max()) <= 1000
    shares = np.histogram(times.numpy(), bins=[1, 31, 601, 1001])[0] / len(times)
    assert np.allclose(shares, (0.015, 0.785, 0.2), atol=0.015)


def test_all_weights_are_fine_tuned() -> None:
    state = new_state(quick_plan("dp-diffusion"), seed=0)
    for _ in fit(quick_plan("dp-diffusion"), quick_dataset("dp-diffusion"), state):
        pass
    before = dict(state.modules["public_ema"].named_parameters())
    assert all(not torch.equal(value, before[name]) for name, value in state.modules["ema"].named_parameters())
    assert state.steps[FINE_TUNING] == 3


@pytest.mark.parametrize(("preset", "claim", "bound"), [("published", 10.0, 9.276), ("published-1", 1.0, 0.9145)])
def test_published_noise(preset: str, claim: float, bound: float) -> None:
    plan = make_plan("dp-diffusion", facts("mnist"), preset=preset)
    assert plan.claim.epsilon == pytest.approx(claim, rel=2e-4)
    assert plan.bound.epsilon == pytest.approx(bound, rel=5e-4)
    assert plan.bound.status == plan.claim.status == "proved"
