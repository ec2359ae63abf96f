"""Training: public images, the selection, what was selected, and DP-SGD on the private records."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import build_diffusion
from workbench.errors import WorkbenchError
from workbench.methods.selective_pretraining.method import REFINEMENT, SelectivePretrainingConfig
from workbench.models import image_diffusion, pretrained
from workbench.models.latents import autoencoder
from workbench.models.sample_request import SampleRequest
from workbench.models.selection import pretraining as selected_pretraining
from workbench.models.selection.config import SELECTIVE
from workbench.models.selection.selector import Selector
from workbench.models.settings import PRETRAINING
from workbench.records import Records
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step


def initial_state(config: SelectivePretrainingConfig, facts: DatasetFacts, state: State) -> State:
    """The network, its moving averages (with a copy from before any vote), an Adam a stage, and room for candidates and votes."""
    network = pretrained.new_modules(config, config.latents.learned(facts), state)
    refined = network.parameters_up() if config.refinement.trained == "up" else network.parameters_beside_time()
    state.optimizers = {
        PRETRAINING: torch.optim.Adam(network.parameters(), lr=config.pretraining.learning_rate),
        SELECTIVE: torch.optim.Adam(network.parameters(), lr=config.selective.learning_rate),
        REFINEMENT: torch.optim.Adam(refined, lr=config.refinement.learning_rate),
    }
    autoencoder.add_to(config.latents, facts, state)
    Selector.add_to(config.selection, facts, state)
    return state


def fit(config: SelectivePretrainingConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Each stage from where it stands."""
    if public is None:
        raise WorkbenchError(f"Expected public images of {config.selection.dataset!r}, got none.")
    yield from autoencoder.train(config.latents, public, state)
    yield from pretrain(config, public, state)
    yield from Selector(config.selection, state).run(data, public)
    yield from train_on_selected(config, state)
    yield from refine(config, data, state)


def pretrain(config: SelectivePretrainingConfig, public: Records, state: State) -> Iterator[Step]:
    """Ordinary training on public images; what they end with is kept for the epsilon-0 row."""
    settings = config.pretraining
    loss = image_diffusion.ordinary_loss(config, public, state, PRETRAINING, settings.batch_size, config.label_dropout, config.start)
    yield from pretrained.public_steps(settings, state, loss)


def train_on_selected(config: SelectivePretrainingConfig, state: State) -> Iterator[Step]:
    """Ordinary training on images drawn by the noisy votes, at the time steps up to the start."""
    batch_size = config.selective.batch_size

    def loss_of(chosen: Records) -> image_diffusion.StepLoss:
        return image_diffusion.ordinary_loss(config, chosen, state, SELECTIVE, batch_size, config.label_dropout, config.start)

    trainer_of = selected_pretraining.of_network(config.selective, state, loss_of)
    yield from selected_pretraining.train(config.selective, config.selection, config.draws, state, trainer_of)


def refine(config: SelectivePretrainingConfig, data: Records, state: State) -> Iterator[Step]:
    """DP-SGD on the time steps that samples pass through, from the moving average so far; the time embedding stays as it is."""
    diffusion = build_diffusion(config.diffusion)

    def losses(network: nn.Module, batch: tuple[Tensor, ...]) -> RowLosses:
        return image_diffusion.row_losses(diffusion, network, batch, config.start)

    network = pretrained.network_of(state)
    if config.refinement.trained == "up":
        network.freeze_but_up()
    network.freeze_time()
    yield from pretrained.fine_tune(config.refinement, REFINEMENT, data, state, losses)


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
