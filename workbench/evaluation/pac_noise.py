"""P3DM's Table 2 as a measure: the noise that its Algorithm 3 finds for samples of one trained model."""

from dataclasses import replace

import numpy as np

from workbench.datasets.base import to_unit_range
from workbench.evaluation.context import Context, Measurement, Metric
from workbench.privacy.not_dp.pac import deterministic_noise
from workbench.records import Records


def pac_noise_norm(samples: Records, _context: Context) -> Measurement:
    """E||B|| for MI of 1 nat by nu = beta = .5, with c = 0, of images in [-1, 1]; bounds nothing, and the note says so."""
    return _norm(samples, c=0.0)


def pac_noise_norm_certain(samples: Records, _context: Context) -> Measurement:
    """The same with the c of a confidence of .99: gamma = .01 is the paper's."""
    return _norm(samples, c=None)


def _norm(samples: Records, c: float | None) -> Measurement:
    outputs = to_unit_range(samples.records).reshape(len(samples), -1).astype(np.float64)
    noise = deterministic_noise(outputs, c=c, gamma=0.01, radius=float(np.sqrt(outputs.shape[1])), redrawn=False)
    return Measurement(noise.mean_norm, None, "pixels in [-1, 1]", " ".join(noise.labels), private=False)


PAC_NOISE_NORM = Metric(
    name="pac_noise_norm",
    title="PAC noise norm, one model",
    kinds=frozenset({"image"}),
    function=pac_noise_norm,
    description="Mean norm of the noise that P3DM's Algorithm 3 adds to an image for 1 nat, from samples of one model (its Table 2). "
    "It measures the sampler's spread, no privacy; `workbench pac RUN` draws the records anew.",
    better="lower",
    touches=frozenset(),
    in_features=False,
    by_name=True,
)
PAC_NOISE_NORM_CERTAIN = replace(
    PAC_NOISE_NORM,
    name="pac_noise_norm_certain",
    title="PAC noise norm, one model, gamma .01",
    function=pac_noise_norm_certain,
    description=f"{PAC_NOISE_NORM.description} With a confidence of 99 %, as the paper has it (gamma .01), which few samples make large.",
)
