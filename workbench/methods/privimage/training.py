"""PrivImage's training: a public classifier of kinds, the query, ordinary steps on what was chosen, DP-SGD on EDM's loss."""

from collections.abc import Iterator

import numpy as np
import torch
from sklearn.cluster import KMeans
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts, to_unit_range
from workbench.diffusion.edm import EDM
from workbench.errors import WorkbenchError
from workbench.methods.class_moments.training import labels_of
from workbench.methods.privimage.method import CHOSEN, KINDS, QUERY, PrivImageConfig, SemanticQuery
from workbench.models import edm_images, image_diffusion, pretrained
from workbench.models.sample_request import SampleRequest
from workbench.models.settings import DP_SGD
from workbench.networks.classifiers import SmallCNN
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.randomness import Randomness
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step

PART = 1000  # records that the classifier sees at once


def initial_state(config: PrivImageConfig, facts: DatasetFacts, state: State) -> State:
    """The network and its average, the classifier of kinds, an Adam a stage, and room for the counts."""
    network = image_diffusion.new_network(config, facts, state)
    state.modules = {"network": network, "ema": image_diffusion.new_ema(config, network, state)}
    state.modules["classifier"] = new_classifier(config.query, facts, state)
    rates = {CHOSEN: config.pretraining.learning_rate, DP_SGD: config.training.learning_rate}
    state.optimizers = {name: torch.optim.Adam(network.parameters(), lr=rate) for name, rate in rates.items()}
    of_kinds = state.modules["classifier"].parameters()
    state.optimizers[KINDS] = torch.optim.Adam(of_kinds, lr=config.query.classifier.learning_rate)
    counts = torch.zeros(max(facts.num_classes, 1), config.query.kinds, dtype=torch.float64, device=state.device)
    state.tensors = {"counts": counts}
    return state


def new_classifier(query: SemanticQuery, facts: DatasetFacts, state: State) -> nn.Module:
    """A small network from an image to a score for each kind."""
    channels, height, width = facts.shape
    draw = state.randomness.torch_generator("initialisation of the classifier")
    return networks.initialized(lambda: SmallCNN((channels, height, width), query.kinds), draw).to(state.device)


def fit(config: PrivImageConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Each stage from where it stands."""
    if public is None:
        raise WorkbenchError(f"Expected public images of {config.query.dataset!r} to choose from, got none.")
    edm = EDM(config.diffusion)

    def losses(network: nn.Module, batch: tuple[Tensor, ...]) -> RowLosses:
        return edm_images.row_losses(edm, network, batch, config.label_dropout)

    if state.steps.get(CHOSEN, 0) < config.pretraining.steps:
        kinds = kinds_of(config.query, public)
        yield from learn_kinds(config.query, public, kinds, state)
        yield from ask(config.query, data, state)
        yield from pretrain(config, chosen_images(config.query, public, kinds, state), state)
    yield from pretrained.fine_tune(config.training, DP_SGD, data, state, losses)


def kinds_of(query: SemanticQuery, public: Records) -> np.ndarray:
    """The kind (N,) of each public image: its label, parted by k-means into as many groups as there is room for.

    Refuses more labels than kinds.
    """

    labels, vectors = labels_of(public), public.records.reshape(len(public), -1).astype(np.float32)
    there = np.unique(labels)
    groups = query.kinds // len(there)
    if not groups:
        raise WorkbenchError(f"Expected query.kinds of at least the {len(there)} labels of {query.dataset}, got {query.kinds}.")
    kinds = np.zeros(len(public), np.int64)
    for place, label in enumerate(there):
        mine = np.flatnonzero(labels == label)
        parted = min(groups, len(mine))
        cluster = KMeans(parted, random_state=0).fit_predict(vectors[mine]) if parted > 1 else 0
        kinds[mine] = place * groups + cluster
    return kinds


def learn_kinds(query: SemanticQuery, public: Records, kinds: np.ndarray, state: State) -> Iterator[Step]:
    """Ordinary steps on public images and their kinds."""
    targets = torch.from_numpy(kinds).to(state.device)

    def loss(step: int) -> Tensor:
        draw = state.randomness.torch_generator(f"{KINDS} batch", step)
        index = torch.randint(len(public), (query.classifier.batch_size,), generator=draw)
        images = torch.from_numpy(to_unit_range(public.records[index.numpy()])).to(state.device)
        return nn.functional.cross_entropy(state.modules["classifier"](images), targets[index.to(state.device)])

    yield from OrdinaryTrainer(query.classifier, KINDS, state, loss, private=False).run()


def ask(query: SemanticQuery, data: Records, state: State) -> Iterator[Step]:
    """The noisy counts (classes, kinds) once, recorded as spent before a record is read."""
    if state.steps.get(QUERY, 0):
        return
    state.spend(QUERY, 1)
    total, grid = record_votes(query, data, state)
    randomness = state.randomness if query.noise == "secret" else Randomness.from_seed(0)
    noisy = randomness.release(QUERY, 1, total, grid) * query.choices**0.5
    state.tensors["counts"] = torch.from_numpy(noisy).to(state.device)
    state.steps[QUERY] = 1
    yield Step(QUERY, 1, 1)


def record_votes(query: SemanticQuery, data: Records, state: State) -> tuple[np.ndarray, Grid]:
    """Votes of the records, each a vector of norm 1 in steps of the grid: (classes, kinds), and the grid."""
    assert query.noise_multiplier is not None
    grid = Grid(query.noise_multiplier, 1.0, state.facts.num_records)
    one = int(grid.truncated(np.full((1, query.choices), query.choices**-0.5))[0, 0])
    total = np.zeros(tuple(state.tensors["counts"].shape), np.int64)
    for start in range(0, len(data), PART):
        part = data.take(slice(start, start + PART))
        voted, labels = predicted_kinds(query, part, state)[part.mask], labels_of(part)[part.mask]
        np.add.at(total, (labels[:, None], voted), one)
    return total, grid


@torch.no_grad()
def predicted_kinds(query: SemanticQuery, records: Records, state: State) -> np.ndarray:
    """The kinds (N, choices) that the classifier finds records most like, all different."""
    images = torch.from_numpy(to_unit_range(records.records)).to(state.device)
    return state.modules["classifier"](images).topk(query.choices, dim=1).indices.cpu().numpy()


def chosen_kinds(query: SemanticQuery, state: State) -> list[list[int]]:
    """Kinds that are chosen for each class: by the noisy counts from the largest on, none for two classes."""
    counts = state.tensors["counts"].cpu().numpy()
    chosen: list[list[int]] = [[] for _ in counts]
    taken: set[int] = set()
    for place in np.argsort(-counts, axis=None, kind="stable"):
        label, kind = divmod(int(place), counts.shape[1])
        if kind not in taken and len(chosen[label]) < query.chosen:
            chosen[label].append(kind)
            taken.add(kind)
    return chosen


def chosen_images(query: SemanticQuery, public: Records, kinds: np.ndarray, state: State) -> Records:
    """The public images of the chosen kinds, with the class that chose them as label; all, evenly, where no image is of any."""
    chosen = chosen_kinds(query, state)
    class_of = np.full(query.kinds, -1, np.int64)
    for label, mine in enumerate(chosen):
        class_of[mine] = label
    labels = class_of[kinds]
    positions = np.flatnonzero(labels >= 0)
    if not len(positions):
        positions, labels = np.arange(len(public)), np.arange(len(public), dtype=np.int64) % len(chosen)
    return Records(public.records[positions], labels[positions] if state.facts.num_classes else None)


def pretrain(config: PrivImageConfig, chosen: Records, state: State) -> Iterator[Step]:
    """Ordinary conditional steps on the images that were chosen."""
    settings = config.pretraining
    loss = edm_images.ordinary_loss(config, chosen, state, CHOSEN, settings.batch_size, config.label_dropout)  # pyright: ignore[reportArgumentType]
    yield from OrdinaryTrainer(settings, CHOSEN, state, loss, private=False, averages={"ema": "network"}).run()


def sample(config: PrivImageConfig, state: State, request: SampleRequest) -> Records:
    """Images from the moving average."""
    return edm_images.draw_samples(config, image_diffusion.averaged(state), state, request)  # pyright: ignore[reportArgumentType]
