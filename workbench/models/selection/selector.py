"""The carrier of a private selection: candidates, votes, noise, the next candidates, and images drawn at the end."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts, to_unit_range
from workbench.errors import WorkbenchError
from workbench.models.frames import frames_of
from workbench.models.reframing import reframed
from workbench.models.selection import denoising, spaces
from workbench.models.selection.config import CANDIDATES, CLASSIFIER, VOTES, Draws, Selection
from workbench.models.selection.variations import sharpened_images, varied_images
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State, Step

CLASSIFIER_WIDTH = 16


class Images(nn.Module):
    """uint8 images (classes, M, C, H, W) as a part of the state that is kept whole."""

    images: Tensor

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.register_buffer("images", torch.zeros(shape, dtype=torch.uint8))


class Selector:
    """Carries out a `Selection` on a state that `add_to` prepared, from wherever it stands.

    A round is two steps: the candidates (free) and the votes (paid). Both end in a state that can be kept: what is voted on is
    fixed before the vote, and the noisy counts are all that is left of it. Clean counts are never kept.
    """

    def __init__(self, settings: Selection, state: State) -> None:
        self.settings, self.state, self.facts = settings, state, state.facts

    @staticmethod
    def add_to(settings: Selection, facts: DatasetFacts, state: State) -> None:
        """Room for the candidates and the votes in a first state, and the classifier where votes are cast in its features."""
        shape = (*settings.counts(facts), *facts.shape)
        for name in ("public_candidates", "candidates"):
            state.modules[name] = Images(shape).to(state.device)
        state.tensors["votes"] = torch.zeros(*settings.counts(facts), dtype=torch.float64, device=state.device)
        if settings.space == "classifier":
            network = new_classifier(facts, state)
            state.modules["selection_classifier"] = network
            state.optimizers[CLASSIFIER] = torch.optim.Adam(network.parameters(), lr=settings.classifier.learning_rate)
        if settings.denoises:
            denoising.add_to(settings.denoiser, facts, state)

    def run(self, data: Records, public: Records | None) -> Iterator[Step]:
        """All rounds; one Step is yielded after each step."""
        if not self.settings.takes_place:
            return
        if public is None:
            raise WorkbenchError(f"Expected public images of {self.settings.dataset!r} to select from, got none.")
        if self.settings.space == "classifier":
            yield from self._train_classifier(public)
        if self.settings.denoises:
            yield from denoising.train(self.settings.denoiser, public, self.state)
        done = self.state.steps
        for round_ in range(1, self.settings.rounds + 1):
            if done.get(CANDIDATES, 0) < round_:
                yield self.propose(round_, public)
            if done.get(VOTES, 0) < round_:
                yield self.vote(round_, data)

    def propose(self, round_: int, public: Records) -> Step:
        """The candidates of round `round_`, from 1: public images, then what the votes of the round before chose."""
        generator = self.state.randomness.torch_generator(CANDIDATES, round_, self.state.device)
        if round_ == 1:
            self._images("public_candidates").copy_(self._first_images(public, generator))
            self._images("candidates").copy_(self._images("public_candidates"))
            values = {}
        else:
            values = {"distinct_candidates": self._draw_again(self.settings.size_after(round_ - 1), generator)}
        self.state.steps[CANDIDATES] = round_
        return Step(CANDIDATES, round_, self.settings.rounds, values, private=False, kept=True)

    def vote(self, round_: int, data: Records) -> Step:
        """The noisy votes of round `round_`, recorded as spent before a record is read."""
        self.state.spend(VOTES, round_)
        grid = self.grid()
        choices = self.settings.choices
        share = int(grid.truncated(np.full((1, choices), choices**-0.5))[0, 0])  # of a vote, in steps: all of them have norm 1
        votes = spaces.count_votes(self._space, self._images("candidates"), data, choices) * share
        self.state.tensors["votes"] = torch.from_numpy(self.state.randomness.release(VOTES, round_, votes, grid)).to(self.state.device)
        self.state.steps[VOTES] = round_
        values = {"candidates_with_votes": float((self.kept_votes() > 0).double().mean())}
        return Step(VOTES, round_, self.settings.rounds, values, private=False, kept=True, shown=self.favourites())  # of noisy counts

    def grid(self) -> Grid:
        """Where counts are released: a record adds one to one count."""
        return Grid(self.settings.known_noise_multiplier(), max_norm=1.0, num_records=self.facts.num_records)

    def kept_votes(self) -> Tensor:
        """The noisy counts (classes, M) that reach the threshold, the others as zero."""
        votes = self.state.tensors["votes"]
        return torch.where(votes >= self.settings.threshold * self.settings.known_noise_multiplier(), votes, 0.0).clamp(min=0.0)

    def favourites(self, classes: int = 10, number: int = 10) -> Records:
        """The candidates with the most noisy votes, `number` of each of the first `classes` classes, by class."""
        best = self.state.tensors["votes"].argsort(dim=1, descending=True)[:classes, :number]
        favourites = torch.stack([images[index] for images, index in zip(self._images("candidates"), best, strict=False)])
        labels = np.repeat(np.arange(len(best)), best.shape[1]) if self.facts.classes else None
        return Records(favourites.flatten(0, 1).cpu().numpy(), labels)

    def draw(
        self,
        labels: np.ndarray | None,
        count: int,
        draws: Draws,
        generator: torch.Generator,
        *,
        public: bool = False,
        frames: np.ndarray | None = None,
    ) -> Records:
        """`count` images of these labels (int64 (count,), or None for one class): candidates drawn by their votes, and varied.

        `public`: of the candidates before the first vote, all alike. `frames` (count, 5) are those that they are brought to before they
        are varied; None leaves them their own. Draws from a generator on the state's device.
        """
        weights = torch.ones_like(self.state.tensors["votes"]) if public else weights_of(self.kept_votes(), draws.power)
        images, made = self._images("public_candidates" if public else "candidates"), np.zeros((count, *self.facts.shape), np.uint8)
        wanted = np.zeros(count, np.int64) if labels is None else labels
        for label in np.unique(wanted):
            places = np.flatnonzero(wanted == label)
            index = torch.multinomial(weights[label], len(places), replacement=True, generator=generator)
            chosen = images[label][index] if frames is None else reframed_images(images[label][index], frames[places])
            drawn = self._varied_images(chosen, int(label), draws.variation_size, generator)
            made[places] = sharpened_images(drawn, draws.sharpening).cpu().numpy()
        return Records(made, labels)

    def varied(self, images: np.ndarray, labels: np.ndarray, size: float, generator: torch.Generator) -> np.ndarray:
        """uint8 images (N, C, H, W) of these labels (N,), each class's varied as its candidates are."""
        made = images.copy()
        for label in np.unique(labels):
            places = np.flatnonzero(labels == label)
            own = torch.from_numpy(images[places]).to(self.state.device)
            made[places] = self._varied_images(own, int(label), size, generator).cpu().numpy()
        return made

    def _draw_again(self, size: float, generator: torch.Generator) -> float:
        """Replace the candidates by as many drawn in proportion to their votes; a repeat is varied. How many were not, in a class."""
        weights, distinct = weights_of(self.kept_votes()), 0
        for label, (images, shares) in enumerate(zip(self._images("candidates"), weights, strict=True)):
            index = torch.multinomial(shares, len(images), replacement=True, generator=generator)
            distinct += int(self._with_varied_repeats(images, label, index, size, generator))
        return distinct / len(weights)

    def _with_varied_repeats(self, images: Tensor, label: int, index: Tensor, size: float, generator: torch.Generator) -> int:
        """Put images[index] in the place of a class's `images`: as it is where it first occurs, else varied. How many are as they are."""
        chosen, repeats = images[index], occurred_before(index)
        chosen[repeats] = self._varied_images(chosen[repeats], label, size, generator)
        images.copy_(chosen)
        return int((~repeats).sum())

    def _first_images(self, public: Records, generator: torch.Generator) -> Tensor:
        """Public images of each class, or of any where they have no labels, in random order; repeats, where there are few, varied."""
        classes, number = self.settings.counts(self.facts)
        order = torch.randperm(len(public), generator=generator, device=self.state.device).cpu().numpy()
        candidates = torch.zeros((classes, number, *self.facts.shape), dtype=torch.uint8, device=self.state.device)
        for label in range(classes):
            places = order[label::classes] if public.labels is None else order[public.labels[order] == label]
            if not len(places):
                name = self.facts.classes[label] if self.facts.classes else "any"
                raise WorkbenchError(
                    f"Expected public images of every class in {self.settings.dataset}, got none of {name}. Use more records."
                )
            index = torch.arange(number, device=self.state.device) % len(places)
            images = torch.from_numpy(public.records[places[index.cpu().numpy()]]).to(self.state.device)
            repeats = occurred_before(index)
            images[repeats] = self._varied_images(images[repeats], label, self.settings.variation_size, generator)
            candidates[label] = images
        return candidates

    def _varied_images(self, images: Tensor, label: int, size: float, generator: torch.Generator) -> Tensor:
        names = [name for name in self.settings.chosen_variations(self.facts) if name != "denoise"]
        made = varied_images(images, names, size, generator)
        return (
            denoising.denoised_images(self.settings.denoiser, made, label, size, generator, self.state) if self.settings.denoises else made
        )

    def _images(self, name: str) -> Tensor:
        module = self.state.modules[name]
        assert isinstance(module, Images)
        return module.images

    @cached_property
    def _space(self) -> spaces.Space:
        """Where the nearest candidate is looked for; made of public images alone."""
        if self.settings.space != "classifier":
            _, height, width = self.facts.shape
            pixels = spaces.blurred_pixels(self.settings.blur, height, width, self.state.device)
            return spaces.in_standard_frames(pixels) if self.settings.space == "standard-frame" else pixels
        network = self.state.modules["selection_classifier"]
        assert isinstance(network, networks.SmallCNN)
        scale = max(spaces.largest_feature(network, images) for images in self._images("public_candidates"))
        return spaces.classifier_features(network, scale)

    def _train_classifier(self, public: Records) -> Iterator[Step]:
        """Cross-entropy on public images and their labels."""
        if public.labels is None:
            raise WorkbenchError(
                "Expected public images of the same classes for a classifier's features, got others. Use the space pixels."
            )
        images, labels = torch.from_numpy(to_unit_range(public.records)), torch.from_numpy(public.labels)
        network = self.state.modules["selection_classifier"].train()

        def loss(step: int) -> Tensor:
            draw = self.state.randomness.torch_generator(f"{CLASSIFIER} batch", step)
            index = torch.randint(len(images), (self.settings.classifier.batch_size,), generator=draw)
            return nn.functional.cross_entropy(network(images[index].to(self.state.device)), labels[index].to(self.state.device))

        yield from OrdinaryTrainer(self.settings.classifier, CLASSIFIER, self.state, loss, private=False).run()


def new_classifier(facts: DatasetFacts, state: State) -> networks.SmallCNN:
    """A classifier of the dataset's shape and classes, initialised from the state's randomness."""
    channels, height, width = facts.shape
    build = networks.SmallCNN
    made = networks.initialized(
        lambda: build((channels, height, width), max(facts.num_classes, 1), CLASSIFIER_WIDTH), state.randomness.torch_generator(CLASSIFIER)
    )
    return made.to(state.device)


def reframed_images(images: Tensor, frames: np.ndarray) -> Tensor:
    """uint8 images (N, C, H, W) brought to `frames` (N, 5) from their own."""
    given = images.cpu().numpy()
    made = reframed(given / np.float32(255), frames_of(given), frames)
    return torch.from_numpy((made * 255.0).round().astype(np.uint8)).to(images.device)


def weights_of(votes: Tensor, power: float = 1.0) -> Tensor:
    """Votes (classes, M) as weights to draw by; a class in which nothing has votes draws evenly."""
    return torch.where(votes.sum(1, keepdim=True) > 0, votes**power * (votes > 0), 1.0)


def occurred_before(index: Tensor) -> Tensor:
    """Which entries of an index (N,) occurred before, bool (N,)."""
    _, first = np.unique(index.cpu().numpy(), return_index=True)
    seen = np.ones(len(index), dtype=bool)
    seen[first] = False
    return torch.from_numpy(seen).to(index.device)
