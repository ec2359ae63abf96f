"""The eleven scikit-learn classifiers whose mean accuracy DP-MERF, DP-MEPF and dp-promise print, with their settings.

What no setting names is the library's default. The papers' AdaBoost was of kind SAMME.R, which the library has no more: today's is SAMME.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SETTINGS: dict[str, str] = {  # what tables and notes say of each
    "logistic regression": "lbfgs, at most 5000 iterations",
    "random forest": "100 trees, balanced classes",
    "Gaussian naive Bayes": "defaults",
    "Bernoulli naive Bayes": "binarised at .5",
    "linear SVC": "hinge, at most 10 000 iterations, tolerance 1e-8",
    "decision tree": "balanced classes",
    "LDA": "eigen, at most 9 components, shrinkage .5",
    "AdaBoost": "100 stumps, SAMME (the papers': SAMME.R)",
    "bagging": "20 trees, a tenth of the records each",
    "gradient boosting": "50 rounds, a tenth of the records each",
    "XGBoost": "50 rounds, a tenth of the columns each tree",
}


def accuracies(
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    seed: int,
    took: Callable[[str, Callable[[], float]], float] = lambda _name, fit: fit(),
) -> dict[str, float]:
    """The share of `test` that each classifier, fitted to `train`, puts into its class; both are values (N, D) and labels (N,).

    `took(name, fit)` is called for each in turn and returns what `fit()` gives, or what it gave before.
    """
    classes, numbers = np.unique(train[1], return_inverse=True)  # a collapsed sampler leaves classes out, which XGBoost does not take

    def accuracy(name: str) -> float:
        if len(classes) == 1:  # several libraries refuse what has an obvious answer
            return float(np.mean(test[1] == classes[0]))
        model = _classifier(name, len(classes), seed)
        return float(np.mean(classes[model.fit(train[0], numbers).predict(test[0])] == test[1]))

    return {name: took(name, lambda name=name: accuracy(name)) for name in SETTINGS}


def _classifier(name: str, num_classes: int, seed: int) -> Any:
    """The classifier of a name in `SETTINGS`; one library is loaded for all but XGBoost."""
    if name == "XGBoost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=50, colsample_bytree=0.1, objective="multi:softprob", num_class=num_classes, random_state=seed)
    from sklearn import discriminant_analysis, ensemble, linear_model, naive_bayes, svm, tree

    build: dict[str, Callable[[], Any]] = {
        "logistic regression": lambda: linear_model.LogisticRegression(solver="lbfgs", max_iter=5_000, random_state=seed),
        "random forest": lambda: ensemble.RandomForestClassifier(n_estimators=100, class_weight="balanced", n_jobs=2, random_state=seed),
        "Gaussian naive Bayes": naive_bayes.GaussianNB,
        "Bernoulli naive Bayes": lambda: naive_bayes.BernoulliNB(binarize=0.5),
        "linear SVC": lambda: svm.LinearSVC(loss="hinge", max_iter=10_000, tol=1e-8, random_state=seed),
        "decision tree": lambda: tree.DecisionTreeClassifier(class_weight="balanced", random_state=seed),
        "LDA": lambda: discriminant_analysis.LinearDiscriminantAnalysis(
            solver="eigen", n_components=min(9, num_classes - 1), tol=1e-8, shrinkage=0.5
        ),
        "AdaBoost": lambda: ensemble.AdaBoostClassifier(n_estimators=100, random_state=seed),
        "bagging": lambda: ensemble.BaggingClassifier(n_estimators=20, max_samples=0.1, random_state=seed),
        "gradient boosting": lambda: ensemble.GradientBoostingClassifier(n_estimators=50, subsample=0.1, random_state=seed),
    }
    return build[name]()
