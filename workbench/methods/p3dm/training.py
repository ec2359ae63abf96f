"""P3DM's training: triples, score network, classifier, and the noise that one model's samples determine."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from workbench.datasets.base import DatasetFacts, to_unit_range
from workbench.diffusion.langevin import noise_levels
from workbench.methods.p3dm import guidance
from workbench.methods.p3dm.config import P3DMConfig
from workbench.methods.p3dm.stages import DETERMINATION
from workbench.models.recovery import scores, triples
from workbench.models.sample_request import SampleRequest
from workbench.privacy.not_dp.pac import PacNoise, deterministic_noise
from workbench.records import Records
from workbench.training.state import State, Step


def initial_state(config: P3DMConfig, facts: DatasetFacts, state: State) -> State:
    """The score network, its moving average, the classifier, an Adam each, and room for triples."""
    scores.initial_state(config, facts, state)
    guidance.add_classifier(config, state)
    return state


def fit(config: P3DMConfig, data: Records, state: State) -> Iterator[Step]:
    """Each stage from where it stands."""
    yield from triples.release(config, data, noise_levels(config.langevin, state.facts.dimensions), state)
    yield from scores.trainer(config, state).run()
    if config.is_guided:
        yield from guidance.train_classifier(config, data, state)
    if config.pac_samples and not state.steps.get(DETERMINATION, 0):
        noise = pac_noise(config, state, SampleRequest(config.pac_samples, purpose=DETERMINATION))
        state.steps[DETERMINATION] = 1
        yield Step(DETERMINATION, 1, 1, {"mean norm of the noise": noise.mean_norm})


def sample(config: P3DMConfig, state: State, request: SampleRequest) -> Records:
    """Images steered to values drawn at random, which they carry; unsteered at scale 0, and without values in the code's form."""
    reverse = config.guidance.step == "reverse"
    if not config.is_guided:
        return scores.draw_samples(config, state, request, reverse=reverse)
    wanted = guidance.drawn_values(config, state, request)
    drawn = scores.draw_samples(config, state, request, guidance.guide(config, state, wanted), reverse)
    if config.guidance.form == "code":
        return drawn
    return replace(drawn, attributes={config.attribute: wanted}) if config.attribute else replace(drawn, labels=wanted)


def pac_noise(config: P3DMConfig, state: State, request: SampleRequest) -> PacNoise:
    """Algorithm 3 on samples of the one model there is: what it measures is the sampler's spread, and its labels say so."""
    outputs = to_unit_range(sample(config, state, request).records).reshape(request.num_samples, -1).astype(np.float64)
    return deterministic_noise(outputs, radius=float(np.sqrt(outputs.shape[1])), redrawn=False)
