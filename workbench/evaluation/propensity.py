"""The propensity score's error of tables (pMSE; Woo et al. 2009, Snoke et al. 2018): how well a regression tells samples from records."""

import numpy as np

from workbench.evaluation.context import Context, Measurement
from workbench.records import Records

EVEN = 0.5  # of each a half, so what a score is that tells nothing


def propensity_error(samples: Records, context: Context) -> Measurement:
    """Mean squared distance from 1/2 of the chance of being a sample, by a logistic regression on samples and as many held-out records.

    Taken on the rows that it learned from, as the papers do, so that k numbers to fit give (k - 1) / (8 N) of N rows where nothing
    differs (Snoke et al. 2018, theorem 1): the note has it.
    """
    from sklearn.linear_model import LogisticRegression

    dataset, draw = context.dataset, np.random.default_rng([context.seed, 7])
    size = min(len(samples), len(dataset.held_out))
    parts = [part.take(np.sort(draw.permutation(len(part))[:size])) for part in (samples, dataset.held_out)]
    features = np.concatenate([_with_class(part, context, samples.labels is not None) for part in parts])
    made = np.repeat([1, 0], size)
    chances = LogisticRegression(C=1.0, max_iter=2_000, random_state=context.seed).fit(features, made).predict_proba(features)[:, 1]
    value = float(np.mean((chances - EVEN) ** 2))
    fitted = np.linalg.matrix_rank(features - features.mean(axis=0)) + 1
    expected = float((fitted - 1) * EVEN**3 / len(features))
    note = f"{size} of each; {expected:.5f} is expected where nothing differs ({value / expected if expected else 0.0:.1f} times that)."
    return Measurement(value, None, dataset.facts.kind.feature_label, note)


def _with_class(records: Records, context: Context, labelled: bool) -> np.ndarray:
    """One-hot rows, the class one-hot beside them where samples have one."""
    facts = context.dataset.facts
    features = facts.kind.features(records.records)
    if not labelled or records.labels is None or not facts.classes:
        return features
    return np.concatenate([features, np.eye(facts.num_classes, dtype=np.float32)[records.labels]], axis=1)
