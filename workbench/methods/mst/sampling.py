"""Rows drawn from the distribution that fits the released marginals, which is post-processing of them."""

from functools import lru_cache

import numpy as np
import torch

from workbench.methods.mst.config import MSTConfig
from workbench.models.graphical.beliefs import Beliefs, Structure
from workbench.models.graphical.drawing import drawn_rows
from workbench.models.graphical.estimation import Measurement, estimated
from workbench.models.graphical.zeros import Zeros, zeros_of
from workbench.models.sample_request import SampleRequest
from workbench.models.table_columns import records
from workbench.records import Records
from workbench.training.marginals import sizes_of, split
from workbench.training.state import State


def sample(config: MSTConfig, state: State, request: SampleRequest) -> Records:
    """Rows of the distribution of largest entropy that fits columns and the tree's pairs, given the labels where some are asked for."""
    labels = request.asked_labels(state.facts.num_classes)
    rows = drawn_rows(beliefs_of(config, state), request.num_samples, state.randomness.stream(request.purpose), labels)
    return records(state.facts, rows, request)


def beliefs_of(config: MSTConfig, state: State) -> Beliefs:
    """The distribution by what has been released so far; of columns alone until there are counts of pairs."""
    sizes, total = sizes_of(state.facts), state.facts.num_records
    one_way, two_way = (state.tensors[name].cpu().numpy() / total for name in ("one_way", "two_way"))
    pairs = tuple((int(first), int(second)) for first, second in state.tensors["pairs"].tolist()) if two_way.any() else ()
    deviations = tuple(
        config.noise_of(share) * count**0.5 / total
        for share, count in ((config.share_of_one_way, len(sizes)), (config.share_of_two_way, len(sizes) - 1))
    )
    return _fitted(sizes, pairs, one_way.tobytes(), two_way.tobytes() if pairs else b"", deviations, zeros_of(state.facts))


@lru_cache(maxsize=2)
def _fitted(
    sizes: tuple[int, ...],
    pairs: tuple[tuple[int, int], ...],
    one_way: bytes,
    two_way: bytes,
    deviations: tuple[float, ...],
    zeros: tuple[Zeros, ...],
) -> Beliefs:
    """The same for every part of a set of samples, so it is made once."""
    columns, cells = split(np.frombuffer(one_way), sizes), [sizes[first] * sizes[second] for first, second in pairs]
    joint = split(np.frombuffer(two_way), cells) if pairs else []
    found = [Measurement((column,), shares, deviations[0]) for column, shares in enumerate(columns)]
    found += [Measurement(pair, shares, deviations[1]) for pair, shares in zip(pairs, joint, strict=True)]
    structure = Structure(sizes, tuple(one.columns for one in found), len(sizes) - 1, zeros)
    potentials = estimated(structure, found, torch.zeros(sum(structure.cells), dtype=torch.float64))
    return Beliefs.of(structure, potentials)
