"""P3DM's Table 2 as a measure: the noise that its Algorithm 3 finds for samples of one trained model."""

import numpy as np

from workbench.datasets.base import to_unit_range
from workbench.evaluation.context import Context, Measurement, Metric
from workbench.privacy.not_dp.pac import deterministic_noise
from workbench.records import Records


def pac_noise_norm(samples: Records, _context: Context) -> Measurement:
    """E||B|| for MI of 1 nat by nu = beta = .5, with c = 0, of images in [-1, 1]; bounds nothing, and the note says so."""
    outputs = to_unit_range(samples.records).reshape(len(samples), -1).astype(np.float64)
    noise = deterministic_noise(outputs, c=0.0, radius=float(np.sqrt(outputs.shape[1])), redrawn=False)
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
