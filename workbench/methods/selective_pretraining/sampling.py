"""Sampling: images are drawn by the votes, noised as far as the start, and denoised by the network. Post-processing."""

from workbench.errors import WorkbenchError
from workbench.methods.selective_pretraining.config import SelectivePretrainingConfig
from workbench.models import image_diffusion
from workbench.models.sample_request import SampleRequest
from workbench.models.selection.selector import Selector
from workbench.records import Records
from workbench.training.state import State


def sample(config: SelectivePretrainingConfig, state: State, request: SampleRequest) -> Records:
    """Images from the moving average; source 'public' takes the one from before any vote, and the candidates of then."""
    public = request.source == "public"
    if public and not config.pretraining.steps:
        raise WorkbenchError("This run had no public pre-training, so it has no model from before the votes.")
    generator = state.randomness.torch_generator(f"{request.purpose}: origins", 0, state.device)
    labels = request.label_array(state.facts.num_classes)
    drawn = Selector(config.selection, state).draw(labels, request.num_samples, config.draws, generator, public=public)
    network = image_diffusion.averaged(state, "public_ema" if public else "ema")
    return image_diffusion.draw_samples(config, network, state, request, image_diffusion.Origin(drawn.records, config.start))
