"""The registries of measures and of feature spaces: a line each says what it takes, touches and means."""

from workbench.evaluation import (
    benchmark,
    downstream,
    metrics,
    published,
    semi_supervised,
    uneven,
)
from workbench.evaluation.bound_terms import bound_term
from workbench.evaluation.context import Metric, Split
from workbench.evaluation.features import IMAGES, Feature, attributes, classifier, pixels
from workbench.evaluation.pac_noise import PAC_NOISE_NORM, PAC_NOISE_NORM_CERTAIN
from workbench.evaluation.quality import quality
from workbench.evaluation.table_measures import HELD_OUT, TABLE_MEASURES, TABLES, TRAIN
from workbench.records import KINDS

ANY_KIND = frozenset(KINDS)
NOTHING: frozenset[Split] = frozenset()

FEATURES: dict[str, Feature] = {
    "pixels": Feature("pixels", ANY_KIND, pixels, "The records themselves: pixels in [0, 1], or a table's categories one-hot."),
    "classifier": Feature("classifier", IMAGES, classifier, "Last layer of a small classifier, trained on public records if there are."),
    "attributes": Feature("attributes", IMAGES, attributes, "Last layer of a small network, taught attributes, of public records if any."),
}


SEMI_SUPERVISED = Metric(
    name="accuracy_semi_supervised",
    title="Accuracy, semi-supervised",
    kinds=IMAGES,
    function=semi_supervised.self_training_accuracy,
    description="Accuracy on held-out real records of a small convolutional network that learns from 10 public labels a class, "
    "and from the samples without their labels (Chu et al. 2023, V.D, in our reading: self-training).",
    better="higher",
    touches=HELD_OUT,
    needs="public labels",
    chance=metrics.share_of_classes,
    is_accuracy=True,
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
    uneven.WORST_CLASS.name: uneven.WORST_CLASS,
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
    "accuracy_released_classifier": Metric(
        name="accuracy_released_classifier",
        title="Accuracy, the released classifier",
        kinds=IMAGES,
        function=metrics.released_classifier,
        description="Accuracy on held-out real records of the classifier that was released itself, beside what samples teach another.",
        better="higher",
        touches=HELD_OUT,
        needs="classifier",
        is_accuracy=True,
        is_fraction=True,
        in_features=False,
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
    **TABLE_MEASURES,
    "accuracy_mlp_published": published.best_epoch_accuracy("accuracy_mlp", "Accuracy, MLP", published.mlp),
    "accuracy_cnn_published": published.best_epoch_accuracy("accuracy_cnn", "Accuracy, CNN", published.cnn),
    "accuracy_sklearn_mean": published.SKLEARN_MEAN,
    "accuracy_mean3": benchmark.MEAN_OF_THREE,
    "frechet_distance_published": published.to_training("frechet_distance", "Frechet distance", "squared feature distance"),
    "kernel_distance_published": published.to_training("kernel_distance", "Kernel distance", "squared kernel distance"),
}
