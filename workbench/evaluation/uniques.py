"""What samples repeat that one training record alone has: whole rows, and pairs of values. A generator that knows no person has few."""

from itertools import combinations

import numpy as np

from workbench.evaluation.cells import table_of
from workbench.evaluation.context import Context, Measurement
from workbench.evaluation.intervals import wilson
from workbench.records import Records


def unique_rows(samples: Records, context: Context) -> Measurement:
    """Share of the training rows, class too, that are there once and are among the samples.

    The note compares equally many training and held-out rows: which are there once depends on how many there are.
    """
    labelled = samples.labels is not None
    made = {row.tobytes() for row in table_of(samples, context.dataset.facts, labelled).rows}
    rows = [table_of(part, context.dataset.facts, labelled).rows for part in (context.dataset.train, context.dataset.held_out)]
    draw, size = np.random.default_rng([context.seed, 8]), min(map(len, rows))
    train, *alike = _once(rows[0]), *(_once(part[draw.permutation(len(part))[:size]]) for part in rows)
    value, shares = _share(train, made), [_share(part, made) for part in alike]
    note = (
        f"Of {len(train)} rows that occur once among {len(rows[0])}, by {len(samples)} samples. Of those that do among {size}: training "
        f"{shares[0]:.1%}, held-out {shares[1]:.1%}; copying makes the first the larger."
    )
    return Measurement(value, wilson(value, len(train)) if train else None, context.dataset.facts.kind.feature_label, note)


def unique_pairs(samples: Records, context: Context) -> Measurement:
    """Share of the pairs of values of two columns that one training row alone has and a sample has too."""
    labelled = samples.labels is not None
    made, train, held_out = (
        table_of(part, context.dataset.facts, labelled) for part in (samples, context.dataset.train, context.dataset.held_out)
    )
    once = repeated = fresh = fresh_repeated = 0
    for first, second in combinations(range(len(made.sizes)), 2):
        cells = made.sizes[first] * made.sizes[second]
        counts = [
            np.bincount(part.rows[:, first] * made.sizes[second] + part.rows[:, second], minlength=cells)
            for part in (made, train, held_out)
        ]
        there, alone, unseen = counts[0] > 0, counts[1] == 1, (counts[1] == 0) & (counts[2] > 0)
        once, repeated = once + int(alone.sum()), repeated + int((alone & there).sum())
        fresh, fresh_repeated = fresh + int(unseen.sum()), fresh_repeated + int((unseen & there).sum())
    value = repeated / once if once else 0.0
    note = (
        f"Of {once} pairs that occur once, by {len(samples)} samples; of {fresh} pairs that held-out rows have and no training row, "
        f"{fresh_repeated / fresh if fresh else 0.0:.1%}."
    )
    return Measurement(value, wilson(value, once) if once else None, context.dataset.facts.kind.feature_label, note)


def _once(rows: np.ndarray) -> list[bytes]:
    """The rows that occur once."""
    distinct_rows, counts = np.unique(rows, axis=0, return_counts=True)
    return [row.tobytes() for row in distinct_rows[counts == 1]]


def _share(rows: list[bytes], made: set[bytes]) -> float:
    return sum(row in made for row in rows) / len(rows) if rows else 0.0
