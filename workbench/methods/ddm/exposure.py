"""What samples show of each record: the chain of the ideal denoiser over the records themselves."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.diffusion.discrete import alphas_cumprod
from workbench.methods.ddm.config import DDMConfig
from workbench.models.table_columns import rows, sizes
from workbench.privacy.not_dp.per_instance import Leakage
from workbench.privacy.not_dp.released_chain import chain_leakage
from workbench.records import Records


def per_instance(
    config: DDMConfig,
    facts: DatasetFacts,
    data: Records,
    num_draws: int,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Leakage:
    """J of every record (N,), exactly where the table is small, else by `num_draws` chains; 0 for null records."""
    present, categories = np.flatnonzero(data.mask), np.array(sizes(facts))
    told = informative(facts)
    found = chain_leakage(
        rows(facts, data)[present][:, told],
        categories[told],
        alphas_cumprod(config.diffusion),
        num_draws=num_draws,
        seed=seed,
        release_step=config.release_time,
        smoothing=config.diffusion.smoothing,
        progress=progress,
    )
    names = ("per_step", "total", "standard_error", "first_error")
    whole = {name: np.zeros((*getattr(found, name).shape[:-1], len(data))) for name in names}
    for name in names:
        whole[name][..., present] = getattr(found, name)
    return replace(found, **whole)


def informative(facts: DatasetFacts) -> np.ndarray:
    """Which columns of the model have more than one category, bool (n,): the others tell nothing."""
    return np.array(sizes(facts)) > 1
