"""What a set of samples tells of copying, in one view: repeated records, nearness, near-duplicates, and the privacy score with a baseline.

Everything here looks at private records: it stays in the room.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from workbench.evaluation.cache import Cache
from workbench.evaluation.copying import (
    RATIO_NEIGHBOURS,
    distance_ratio,
    duplicate_groups,
    duplicates_among,
    extracted_records,
    leak,
    natural_distance,
    scores_by_class,
)
from workbench.evaluation.features import FeatureSpace, can_train_classifier, pixels, remembered_classifier
from workbench.evaluation.nearest import ignore_progress, nearest
from workbench.evaluation.neighbours import PRIVACY_SCORE_CAVEAT
from workbench.files import write_text_atomically
from workbench.records import Records
from workbench.runs.finished import read_results
from workbench.runs.samples import DEFAULT, sample_set
from workbench.runs.threads import few_threads
from workbench.serialization import dumps
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.datasets import Dataset

SMALL = 0.01  # the share of samples with the smallest ratios, of whom the largest is told
JUDGE_SEED = 1  # as the privacy score's judge, apart from the classifier that makes features


def copies_run(
    workspace: Workspace,
    run_id: str,
    features: str = "pixels",
    num_samples: int | None = None,
    progress: Callable[[float], None] = ignore_progress,
    samples: str = DEFAULT,
    attribute: str | None = None,
) -> dict[str, Any]:
    """Everything that tells of copying, as plain JSON values; private, kept beside the samples.

    Keys: `features`, `num_samples`, `distance` (what counts as near: a hundredth of held-out records lie as near to a training record),
    `near` (samples near training and held-out records, equally many, with the p of chance, in the features that it names: pixels where
    training records made those asked for, since p takes both for exchangeable), `ratios` (the largest of the smallest
    hundredth, to each side), `extracted` (training records that groups of near-equal samples repeat), `duplicates` among samples and among
    training records, `privacy_score` by class, or by `attribute`, each with what redrawn labels give; and `caveat`.
    """
    from workbench.evaluation import feature_space

    chosen_set = sample_set(workspace, run_id, samples)
    records = chosen_set.records(num_samples, lambda share: progress(0.3 * share))
    path = chosen_set.copies(features, len(records), attribute)
    if path.exists():
        return read_results(path)
    dataset = chosen_set.dataset()
    with few_threads():
        space = feature_space(features, dataset, chosen_set.public_dataset(), workspace=workspace)
        values = _copy_measures(space, records, dataset, lambda share: progress(0.3 + 0.6 * share))
        judged = dataset.labelled_by(attribute) if attribute else dataset
        score = _scores(space, records, judged, Cache(workspace)) if can_train_classifier(judged.facts) else None
    whole = {
        "run": run_id,
        "samples": chosen_set.id,
        "num_samples": len(records),
        "features": space.label,
        **values,
        "privacy_score": score,
    }
    write_text_atomically(path, dumps({**whole, "caveat": PRIVACY_SCORE_CAVEAT, "releasable": False}, indent=2))
    return read_results(path)


def kept_copies(
    workspace: Workspace, run_id: str, features: str, num_samples: int, samples: str = DEFAULT, attribute: str | None = None
) -> dict[str, Any] | None:
    """What is kept of `copies_run`, or None."""
    path = sample_set(workspace, run_id, samples).copies(features, num_samples, attribute)
    return read_results(path) if path.exists() else None


class _Features(NamedTuple):
    """Features (N, D) of samples, training and held-out records in one space, and what distance counts as near there."""

    label: str
    drawn: np.ndarray
    train: np.ndarray
    held_out: np.ndarray
    distance: float

    @classmethod
    def of(cls, space: FeatureSpace, samples: Records, dataset: "Dataset") -> Self:
        """Of all three."""
        train, held_out = space(dataset.train), space(dataset.held_out)
        return cls(space.label, space(samples), train, held_out, natural_distance(train, held_out))


def _copy_measures(space: FeatureSpace, samples: Records, dataset: "Dataset", report: Callable[[float], None]) -> dict[str, Any]:
    """All but the privacy score, by features alone."""
    features = _Features.of(space, samples, dataset)
    drawn, train, held_out, distance = features[1:]
    report(0.2)
    apart = _Features.of(pixels(dataset), samples, dataset) if space.private else features
    near = leak(apart.drawn, apart.train, apart.held_out, apart.distance)
    report(0.5)
    size = min(len(train), len(held_out))
    sides = {"training": train[np.random.default_rng(0).permutation(len(train))[:size]], "held_out": held_out[:size]}
    ratios = {name: float(np.quantile(distance_ratio(drawn, side), SMALL)) for name, side in sides.items()}
    report(0.8)
    groups = duplicate_groups(drawn, distance)
    repeated = [
        {"record": one.record, "samples": len(one.samples), "distance": one.distance} for one in extracted_records(drawn, train, distance)
    ]
    among = {"groups": len(groups), "samples": sum(map(len, groups)), "largest": max(map(len, groups), default=1)}
    return {
        "distance": distance,
        "near": {
            "features": apart.label,
            "distance": apart.distance,
            "training": near.near_training,
            "held_out": near.near_held_out,
            "share": near.share,
            "p": near.p,
        },
        "ratios": {**ratios, "neighbours": min(RATIO_NEIGHBOURS, size)},
        "extracted": repeated,
        "duplicates": {"among_samples": among, "among_training_records": duplicates_among(dataset)},
    }


def _scores(space: FeatureSpace, samples: Records, judged: "Dataset", cache: Cache) -> list[dict[str, Any]]:
    """The privacy score over all and by class, with its baseline."""
    judge, train = remembered_classifier(judged, JUDGE_SEED, cache), judged.train
    index, _ = nearest(space(samples), space(train))
    return scores_by_class(judge.predict(samples), judge.predict(train.take(index[:, 0])), judged.facts.classes)
