"""Step 5: what samples are worth, and whether they repeat the records they were learnt from.

space = feature_space("classifier", dataset, public, workspace=workspace)
results = evaluate(samples, dataset, public=public, public_samples=public_samples, workspace=workspace)
neighbours = find_neighbours(samples, dataset, space, k=5)
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError, choose
from workbench.evaluation.cache import Cache
from workbench.evaluation.context import Bits, Classes, Context, Metric, Report, Terms, ignore_progress
from workbench.evaluation.feature_files import file_features, is_file
from workbench.evaluation.features import Feature, FeatureSpace, can_train_classifier
from workbench.evaluation.gallery_file import neighbours_html
from workbench.evaluation.neighbours import OUTSIDE_GUARANTEE, PRIVACY_SCORE_CAVEAT, Neighbours, find_neighbours
from workbench.evaluation.protocols import PROTOCOLS
from workbench.evaluation.registry import FEATURES, METRICS
from workbench.evaluation.results import MetricResult, measure
from workbench.records import Records
from workbench.workspace import Workspace

__all__ = [
    "FEATURES",
    "METRICS",
    "OUTSIDE_GUARANTEE",
    "PRIVACY_SCORE_CAVEAT",
    "PROTOCOLS",
    "Feature",
    "FeatureSpace",
    "Metric",
    "MetricResult",
    "Neighbours",
    "default_features",
    "evaluate",
    "feature_of",
    "feature_space",
    "find_neighbours",
    "neighbours_html",
]


def default_features(dataset: Dataset, public: Dataset | None = None) -> str:
    """`classifier` where there are images with classes to train one on, else `pixels`."""
    return "classifier" if can_train_classifier((public or dataset).facts) else "pixels"


def feature_space(name: str, dataset: Dataset, public: Dataset | None = None, seed: int = 0, *, workspace: Workspace) -> FeatureSpace:
    """The space FEATURES[`name`] over `dataset`; what it learns, it learns from `public` where that is given, once in a workspace."""
    return check_feature_space(name, dataset, public).build(dataset, public, seed, Cache(workspace))


def feature_of(name: str) -> Feature:
    """FEATURES[`name`], or the features of the network in a file; refuses an unknown one."""
    return file_features(name) if is_file(name) else choose(name, FEATURES, "feature space")


def check_feature_kind(name: str, kind: str) -> Feature:
    """`feature_of` a name; refuses one that takes no data of this kind."""
    feature = feature_of(name)
    if kind not in feature.kinds:
        shown = Path(name).name if is_file(name) else name
        raise WorkbenchError(f"The features {shown} take {', '.join(sorted(feature.kinds))} data, got {kind}. Choose pixels.")
    return feature


def check_feature_space(name: str, dataset: Dataset, public: Dataset | None = None) -> Feature:
    """`feature_of` a name; refuses one that `dataset` or `public` does not fit."""
    feature = check_feature_kind(name, dataset.facts.kind.name)
    if public is not None and public.facts.shape != dataset.facts.shape:
        raise WorkbenchError(f"Expected public records of shape {dataset.facts.shape}, got {public.facts.shape}.")
    return feature


def evaluate(
    samples: Records,
    dataset: Dataset,
    *,
    public_samples: Records | None = None,
    public: Dataset | None = None,
    metrics: Sequence[str] | None = None,
    features: str | None = None,
    attribute: str | None = None,
    bits: Bits | None = None,
    terms: Terms | None = None,
    classes: Classes | None = None,
    seed: int = 0,
    progress: Callable[[str, float], None] | None = None,
    workspace: Workspace,
) -> list[MetricResult]:
    """Measure `samples` against `dataset`, beside real records (ceiling) and beside public data only (epsilon 0).

    `public` is the public dataset at hand: the feature classifier is trained on it, and `public_samples`, from a model that saw
    it alone, are measured too. Frechet and kernel distances are to the held-out records. `metrics` are names of METRICS; None
    takes all that such data allows, less those that are `by_name`. `features` is a name of FEATURES or a network's file; None takes
    `default_features`.
    `attribute` takes the classes' place in privacy score and accuracies; an unknown one lists the choices. `bits(records, seed)` is what
    the samples' model needs for each record, where it tells, `terms(records, seed)` the terms of its bound, `classes(records)` what the
    classifier says that was released, if one was. `progress(name, fraction)` is called before each measure, within those that take long,
    and at the end. `workspace` keeps what costs as much as a measure. Equal arguments give equal results on the CPU. Nearly nothing here
    is releasable: each value has its own mark, see `MetricResult`.
    """
    _check(samples, dataset, public_samples, public)
    space = features or default_features(dataset, public)
    made = partial(feature_space, space, dataset, public, seed, workspace=workspace)
    context = Context(dataset, made, seed, Cache(workspace), attribute, public, bits, terms, classes)
    chosen = _chosen_metrics(metrics, samples, context)
    check_feature_space(space, dataset, public)
    results = []
    for position, metric in enumerate(chosen):
        context.report = _share_of(progress, metric.name, position, len(chosen))
        context.report(0.0)
        results.append(measure(metric, samples, context, public_samples, public))
    if progress:
        progress("done", 1.0)
    return results


def _share_of(progress: Callable[[str, float], None] | None, name: str, position: int, count: int) -> Report:
    """What tells `progress` the share of all when it is told that of the measure at `position`."""
    return ignore_progress if progress is None else lambda share: progress(name, (position + share) / count)


def _chosen_metrics(names: Sequence[str] | None, samples: Records, context: Context) -> list[Metric]:
    if names is None:
        usual = [metric for metric in METRICS.values() if not metric.by_name and context.undefined_reason(metric, samples) is None]
        return [metric for metric in usual if not metric.is_of_model or context.refusal(metric) is None]
    chosen = [choose(name, METRICS, "metric") for name in names]
    for metric in chosen:
        if reason := context.undefined_reason(metric, samples) or context.refusal(metric):
            raise WorkbenchError(reason)
    return chosen


def _check(samples: Records, dataset: Dataset, public_samples: Records | None, public: Dataset | None) -> None:
    shape = dataset.facts.shape
    for what, records in (("samples", samples), ("public samples", public_samples)):
        if records is not None and (len(records) < 2 or records.records.shape[1:] != shape):
            raise WorkbenchError(f"Expected at least 2 {what} of shape {shape}, got {len(records)} of shape {records.records.shape[1:]}.")
        if records is not None and records.records.dtype != dataset.train.records.dtype:
            raise WorkbenchError(f"Expected {what} of type {dataset.train.records.dtype}, got {records.records.dtype}. Convert them first.")
    if len(dataset.held_out) < 2:
        raise WorkbenchError(f"Expected at least 2 held-out records in {dataset.facts.name}, got {len(dataset.held_out)}.")
    if public_samples is not None and public is None:
        raise WorkbenchError("Expected `public`, the dataset that the public samples were learnt from, got none.")
