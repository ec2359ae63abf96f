"""Sampling from dp-promise's moving averages (Algorithm 2), which is post-processing of training."""

from workbench.errors import WorkbenchError
from workbench.methods.dp_promise.config import DPPromiseConfig
from workbench.models import image_diffusion
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.state import State


def sample(config: DPPromiseConfig, state: State, request: SampleRequest) -> Records:
    """Images from the moving average; source 'public' takes the one from before phase one."""
    if request.source == "public" and not config.pretraining.takes_place:
        raise WorkbenchError("This run had no public pre-training, so it has no model of public data alone.")
    name = "public_ema" if request.source == "public" else "ema"
    return image_diffusion.draw_samples(config, image_diffusion.averaged(state, name), state, request)
