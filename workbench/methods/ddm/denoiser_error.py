"""The trained denoiser against the ideal one of the same records: the error terms of Wei et al.'s assumptions, measured."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from workbench.diffusion.discrete import Denoise, DiscreteDiffusion, alphas_cumprod, generate
from workbench.methods.ddm.config import DDMConfig
from workbench.methods.ddm.exposure import informative
from workbench.methods.ddm.sampling import averaged_denoiser
from workbench.methods.ddm.training import diffusion
from workbench.models.table_columns import rows, sizes
from workbench.privacy.not_dp.discrete_chain import DiscreteChain
from workbench.privacy.not_dp.per_instance import DenoiserError, denoiser_gap, marginal_gap
from workbench.records import Records
from workbench.training.state import State

NUM_TIMES = 8  # time steps that are looked at, evenly over all
DENOISED = 300  # noised records that the two denoisers are compared on: each meets every record
PATHS = 2_000  # draws of either process whose marginals are compared


def measured(config: DDMConfig, state: State, data: Records, seed: int) -> DenoiserError:
    """gamma_t and gamma~_t of the averaged denoiser at some time steps, the first and the last among them."""
    told, facts = informative(state.facts), state.facts
    table, categories = rows(facts, data)[data.mask][:, told], np.array(sizes(facts))[told]
    chain = DiscreteChain.of(table, categories, alphas_cumprod(config.diffusion), config.diffusion.smoothing)
    process, denoise = diffusion(config, facts), averaged_denoiser(config, state)
    times = np.unique(np.linspace(1, chain.timesteps, NUM_TIMES).round().astype(np.int64))
    predict = predictor(denoise, state.device, told, chain.width)
    paths = reverse_paths(denoise, process, times, torch.Generator(state.device).manual_seed(seed))
    draw = np.random.default_rng(seed)
    forward = {t: (chain.forward_draws(t, PATHS, draw), chain.forward_draws(t, PATHS, draw)) for t in times.tolist()}
    return DenoiserError(
        timesteps=times,
        gamma=np.array([denoiser_gap(chain, t, predict, DENOISED, seed) for t in times.tolist()]),
        gamma_tilde=np.array([marginal_gap(forward[t][0], paths[t][:, told], categories) for t in times.tolist()]),
        floor=np.array([marginal_gap(*forward[t], categories) for t in times.tolist()]),
    )


def predictor(denoise: Denoise, device: torch.device, told: np.ndarray, width: int) -> Callable[[np.ndarray, int], np.ndarray]:
    """What the denoiser says of the columns that are `told`: (values (B, n), t) -> probabilities (B, n, width)."""

    def predict(values: np.ndarray, t: int) -> np.ndarray:
        whole = np.zeros((len(values), len(told)), np.int64)
        whole[:, told] = values
        with torch.no_grad():
            found = denoise(torch.from_numpy(whole).to(device), torch.full((len(values),), t, device=device))
        return found.double().cpu().numpy()[:, told, :width]

    return predict


def reverse_paths(denoise: Denoise, process: DiscreteDiffusion, times: np.ndarray, generator: torch.Generator) -> dict[int, np.ndarray]:
    """Where the trained reverse chain stands at each of `times`: int64 (PATHS, n)."""
    start = torch.rand((PATHS, process.num_columns), generator=generator, device=generator.device)
    first = (start * process.tables(generator.device).categories).long()
    found = {process.timesteps: first.cpu().numpy()}

    def keep(done: int, x: Tensor) -> None:
        if (t := process.timesteps - done) in times:
            found[t] = x.cpu().numpy()

    generate(denoise, process, PATHS, generator, on_step=keep)
    return found
