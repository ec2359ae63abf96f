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
from workbench.evaluation import (
    benchmark,
    cells,
    downstream,
    metrics,
    propensity,
    published,
    semi_supervised,
    tables,
    uneven,
    uniques,
)
from workbench.evaluation.bound_terms import bound_term
from workbench.evaluation.cache import Cache
from workbench.evaluation.context import Bits, Context, Measure, Metric, Report, Split, Terms, ignored
from workbench.evaluation.feature_files import file_features, is_file
from workbench.evaluation.features import IMAGES, Feature, FeatureSpace, attributes, can_train_classifier, classifier, pixels
from workbench.evaluation.gallery_file import neighbours_html
from workbench.evaluation.neighbours import OUTSIDE_GUARANTEE, PRIVACY_SCORE_CAVEAT, Neighbours, find_neighbours
from workbench.evaluation.pac_noise import PAC_NOISE_NORM, PAC_NOISE_NORM_CERTAIN
from workbench.evaluation.protocols import PROTOCOLS
from workbench.evaluation.quality import quality
from workbench.evaluation.results import MetricResult, measure
from workbench.records import KINDS, Records
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

ANY_KIND = frozenset(KINDS)
TABLES = frozenset({"table"})
NOTHING: frozenset[Split] = frozenset()
TRAIN: frozenset[Split] = frozenset({"train"})
HELD_OUT: frozenset[Split] = frozenset({"held_out"})

FEATURES: dict[str, Feature] = {
    "pixels": Feature("pixels", ANY_KIND, pixels, "The records themselves: pixels in [0, 1], or a table's categories one-hot."),
    "classifier": Feature("classifier", IMAGES, classifier, "Last layer of a small classifier, trained on public records if there are."),
    "attributes": Feature("attributes", IMAGES, attributes, "Last layer of a small network, taught attributes, of public records if any."),
}


def _copied(name: str, title: str, function: Measure, description: str) -> Metric:
    """A share of what one training row alone has."""
    return Metric(
        name=name,
        title=title,
        kinds=TABLES,
        function=function,
        description=description,
        better="lower",
        touches=TRAIN | HELD_OUT,
        is_fraction=True,
        in_features=False,
    )


SEMI_SUPERVISED = Metric(
    name="accuracy_semi_supervised",
    title="Accuracy, semi-supervised",
    kinds=IMAGES,
    function=semi_supervised.measured,
    description="Accuracy on held-out real records of a small convolutional network that learns from 10 public labels a class, "
    "and from the samples without their labels (Chu et al. 2023, V.D, in our reading: self-training).",
    better="higher",
    touches=HELD_OUT,
    needs="public labels",
    chance=metrics.share_of_classes,
    is_fraction=True,
    in_features=False,
    by_name=True,
)

METRICS: dict[str, Metric] = {
    "accuracy_logistic_regression": metrics.downstream_accuracy(
        "accuracy_logistic_regression", "Accuracy, logistic regression", ANY_KIND, downstream.logistic_regression, "logistic regression"
    ),
    "accuracy_mlp": metrics.downstream_accuracy("accuracy_mlp", "Accuracy, MLP", IMAGES, downstream.mlp, "two-layer network"),
    "accuracy_cnn": metrics.downstream_accuracy("accuracy_cnn", "Accuracy, CNN", IMAGES, downstream.cnn, "small convolutional network"),
    "accuracy_random_forest": metrics.downstream_accuracy(
        "accuracy_random_forest", "Accuracy, random forest", ANY_KIND, downstream.random_forest, "random forest"
    ),
    "accuracy_gradient_boosting": metrics.downstream_accuracy(
        "accuracy_gradient_boosting", "Accuracy, gradient boosting", TABLES, downstream.gradient_boosting, "gradient boosting"
    ),
    **uneven.measures("logistic_regression", "logistic regression", downstream.logistic_chances),
    **uneven.measures("gradient_boosting", "gradient boosting", downstream.boosting_chances),
    SEMI_SUPERVISED.name: SEMI_SUPERVISED,
    **semi_supervised.others(SEMI_SUPERVISED),
    "frechet_distance": Metric(
        name="frechet_distance",
        title="Frechet distance",
        kinds=ANY_KIND,
        function=metrics.frechet,
        description="Frechet distance between samples and held-out records in the named features; FID in those of Inception-v3 alone.",
        better="lower",
        touches=HELD_OUT,
        unit="squared feature distance",
    ),
    "kernel_distance": Metric(
        name="kernel_distance",
        title="Kernel distance",
        kinds=ANY_KIND,
        function=metrics.kernel,
        description="Unbiased polynomial-kernel distance between samples and held-out records in the named features.",
        better="lower",
        touches=HELD_OUT,
        unit="squared kernel distance",
    ),
    "variational_bound": Metric(
        name="variational_bound",
        title="Variational bound",
        kinds=IMAGES,
        function=metrics.variational_bound,
        description="L_vlb: bits per dimension that the samples' model needs at most to name a held-out record (Chu et al. 2023, eq. 7).",
        better="lower",
        touches=HELD_OUT,
        unit="bits per dimension",
        needs="model",
        in_features=False,
        by_name=True,
    ),
    "elbo_reconstruction": bound_term("reconstruction"),
    "elbo_prior": bound_term("prior"),
    "elbo_denoising": bound_term("denoising"),
    "inception_score": Metric(
        name="inception_score",
        title="Inception-style score",
        kinds=IMAGES,
        function=metrics.inception,
        description="How sure and how varied a classifier's judgements of samples are; by Inception-v3's file the Inception Score.",
        better="higher",
        touches=NOTHING,
        needs="classes",
    ),
    "pac_noise_norm": PAC_NOISE_NORM,
    "pac_noise_norm_certain": PAC_NOISE_NORM_CERTAIN,
    "privacy_score": Metric(
        name="privacy_score",
        title="Privacy score",
        kinds=IMAGES,
        function=metrics.privacy,
        description="Share of samples judged to be of another class than their nearest training record (P3DM, Algorithm 2).",
        better="higher",
        touches=TRAIN,
        needs="classes",
        is_fraction=True,
        by_attribute=True,
    ),
    "agreement": Metric(
        name="agreement",
        title="Agreement with what was asked",
        kinds=IMAGES,
        function=metrics.agreement,
        description="Share of samples that a classifier of clean training records finds to be of the class, or value, asked for.",
        better="higher",
        touches=TRAIN,
        needs="labels",
        chance=metrics.share_of_classes,
        is_fraction=True,
        in_features=False,
        by_attribute=True,
        by_name=True,
    ),
    "nearer_to_training": Metric(
        name="nearer_to_training",
        title="Nearer to training",
        kinds=ANY_KIND,
        function=metrics.nearer,
        description="Share of samples nearer to training than to equally many held-out records; without copying, expect 0.5.",
        better="lower",
        touches=TRAIN | HELD_OUT,
        chance=lambda _facts: 0.5,
        is_fraction=True,
    ),
    "precision": quality("precision"),
    "recall": quality("recall"),
    "density": quality("density"),
    "coverage": quality("coverage"),
    "one_way_marginals": tables.compared(
        "one_way_marginals",
        "One-way marginals",
        tables.one_way_marginals,
        "Mean total variation distance between each column's categories among samples and among held-out records, the class a column too.",
    ),
    "two_way_marginals": tables.compared(
        "two_way_marginals",
        "Two-way marginals",
        tables.two_way_marginals,
        "Mean total variation distance between the pairs of categories of every two columns, the class one of them.",
    ),
    "worst_column": tables.compared(
        "worst_column",
        "Worst single column",
        cells.worst_column,
        "Total variation distance of the column that is farthest off, the class a column too; the note tells each, the target first.",
    ),
    "three_way_marginals": tables.compared(
        "three_way_marginals",
        "Three-way marginals",
        cells.three_way_marginals,
        "Mean total variation distance between the triples of categories of every three columns (300 of them where there are more).",
    ),
    "propensity_error": tables.compared(
        "propensity_error",
        "Propensity score error",
        propensity.propensity_error,
        "Mean squared distance from 1/2 of the chance of being a sample, by a logistic regression that tells them from held-out records.",
    ),
    "unique_rows": _copied(
        "unique_rows",
        "Unique rows reproduced",
        uniques.unique_rows,
        "Share of the training rows without an equal that are among the samples; held-out ones are in the note.",
    ),
    "unique_pairs": _copied(
        "unique_pairs",
        "Unique pairs reproduced",
        uniques.unique_pairs,
        "Share of the pairs of values of two columns that one training row alone has and a sample has too.",
    ),
    "pairwise_associations": tables.compared(
        "pairwise_associations",
        "Pairwise associations",
        tables.pairwise_associations,
        "Mean absolute difference of Cramer's V over every two columns, the class one of them.",
    ),
    "closest_record": Metric(
        name="closest_record",
        title="Nearer to the closest training record",
        kinds=TABLES,
        function=tables.closest_record,
        description="In how many columns fewer a sample differs from its closest training record than from the closest of equally many "
        "held-out ones, on average; no copying gives 0.",
        better="lower",
        touches=TRAIN | HELD_OUT,
        unit="columns",
        chance=lambda _facts: 0.0,
        in_features=False,
    ),
    "detection": Metric(
        name="detection",
        title="Detection",
        kinds=TABLES,
        function=tables.detection,
        description="Area under the ROC curve of a random forest that tells samples from held-out records, cross-validated; "
        "0.5 where it cannot.",
        better="lower",
        touches=HELD_OUT,
        chance=lambda _facts: 0.5,
        is_fraction=True,
        in_features=False,
    ),
    "accuracy_mlp_published": published.best_epoch_accuracy("accuracy_mlp", "Accuracy, MLP", published.mlp),
    "accuracy_cnn_published": published.best_epoch_accuracy("accuracy_cnn", "Accuracy, CNN", published.cnn),
    "accuracy_sklearn_mean": published.SKLEARN_MEAN,
    "accuracy_mean3": benchmark.MEAN_OF_THREE,
    "frechet_distance_published": published.to_training("frechet_distance", "Frechet distance", "squared feature distance"),
    "kernel_distance_published": published.to_training("kernel_distance", "Kernel distance", "squared kernel distance"),
}


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
    the samples' model needs for each record, where it tells, `terms(records, seed)` the terms of its bound. `progress(name, fraction)` is
    called before each measure, within those that take long, and at the end. `workspace` keeps what costs as much as a measure. Equal
    arguments give equal results on the CPU. Nearly nothing here is releasable: each value has its own mark, see `MetricResult`.
    """
    _check(samples, dataset, public_samples, public)
    space = features or default_features(dataset, public)
    made = partial(feature_space, space, dataset, public, seed, workspace=workspace)
    context = Context(dataset, made, seed, Cache(workspace), attribute, public, bits, terms)
    chosen = _chosen(metrics, samples, context)
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
    return ignored if progress is None else lambda share: progress(name, (position + share) / count)


def _chosen(names: Sequence[str] | None, samples: Records, context: Context) -> list[Metric]:
    if names is None:
        return [metric for metric in METRICS.values() if not metric.by_name and context.undefined(metric, samples) is None]
    chosen = [choose(name, METRICS, "metric") for name in names]
    for metric in chosen:
        if reason := context.undefined(metric, samples) or context.refusal(metric):
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
