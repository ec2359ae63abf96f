"""What an attacker learns of the people of a table from samples: singling out, linkability, inference (Giomi et al. 2023, Anonymeter).

Each attack is made on training rows and on held-out ones, of which samples know no person. The risk is what it does better on the first,
as a share of what was left to do better: (train - held-out) / (1 - held-out), between 0 and 1. Rates are Wilson's; their errors are
propagated to the risk's interval. A third rate is of an attacker who guesses. This is our own code: the authors' package needs numpy
below 1.27, the workbench 2.4.
"""

from typing import NamedTuple

import numpy as np

from workbench.evaluation.cells import MOST_TOLD, table_of
from workbench.evaluation.context import Context, Measurement
from workbench.evaluation.intervals import wilson
from workbench.evaluation.nearest_rows import Columns, nearest
from workbench.evaluation.queries import held_out_at_size, random_queries, singled_out, singling_out_queries
from workbench.records import Records, TableKind

MOST_LINKED, MOST_INFERRED = 1_000, 3_000  # rows that are attacked on either side
MOST_SEARCHED = 50_000  # samples that the nearest is looked for among
ONE_COLUMN = "A single column leaves nothing to attack by."


class Rate(NamedTuple):
    """How many attacks were right (a number that is expected need not be whole), and of how many."""

    right: float
    attacks: int

    @property
    def estimate(self) -> tuple[float, float]:
        """The centre of Wilson's 95 % interval and its half width."""
        low, high = wilson(self.right / self.attacks, self.attacks)
        return (low + high) / 2, (high - low) / 2


class Attack(NamedTuple):
    """How often an attack was right of training rows, of held-out ones, and by guessing."""

    train: Rate
    held_out: Rate
    guessing: Rate

    @property
    def risk(self) -> tuple[float, tuple[float, float]]:
        """The risk and its 95 % interval, cut off at 0 and 1; 0 to 1 where the attack is always right of held-out rows."""
        (train, train_error), (held_out, held_out_error) = self.train.estimate, self.held_out.estimate
        left = 1 - held_out
        if left <= 0:
            return 0.0, (0.0, 1.0)
        value = (train - held_out) / left
        error = float(np.hypot(train_error / left, held_out_error * (train - 1) / left**2))
        low, middle, high = (float(np.clip(end, 0.0, 1.0)) for end in (value - error, value, value + error))
        return middle, (low, high)

    @property
    def words(self) -> str:
        """The three rates in words."""
        rates = [rate.right / rate.attacks for rate in self]
        note = f"Right of {rates[0]:.1%} of {self.train.attacks} training rows, {rates[1]:.1%} held-out, {rates[2]:.1%} by guessing."
        return note if rates[0] > rates[2] else f"{note} No better than guessing: a small risk says nothing here."


class Sides(NamedTuple):
    """Rows with their class where samples have one (.., columns): samples in an order drawn, training rows, held-out ones; the columns."""

    samples: np.ndarray
    train: np.ndarray
    held_out: np.ndarray
    columns: Columns
    names: tuple[str, ...]


def singling_out(samples: Records, context: Context) -> Measurement:
    """The risk that conditions on four columns that pick out one sample pick out one training row."""
    draw = np.random.default_rng([context.seed, 9])
    sides = _sides(samples, context, draw)
    made, train, held_out = (np.unique(rows, axis=0) for rows in sides[:3])  # as published: a row counts once
    queries = singling_out_queries(made, sides.columns, draw)
    if not queries:
        return _no_measurement(context, "Nothing picks out one sample.")
    guesses = random_queries(made, sides.columns, len(queries), draw)
    attack = Attack(
        Rate(float(singled_out(queries, train).sum()), len(queries)),
        Rate(held_out_at_size(queries, held_out, len(train)), len(queries)),
        Rate(float(singled_out(guesses, train).sum()), len(guesses)),
    )
    return _attack_measurement(attack, context)


def linkability(samples: Records, context: Context) -> Measurement:
    """The risk that two halves of a row's columns, drawn by the seed, lead to the same sample, the nearest to each."""
    draw = np.random.default_rng([context.seed, 10])
    sides = _sides(samples, context, draw)
    order = draw.permutation(len(sides.names))
    halves = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    if not len(halves[0]):
        return _no_measurement(context, ONE_COLUMN)

    def rate(rows: np.ndarray) -> Rate:
        one, other = (nearest(rows, sides.samples, sides.columns, [int(column) for column in half]) for half in halves)
        return Rate(float(np.sum(one == other)), len(rows))

    train, held_out = _targets(sides, MOST_LINKED, draw)
    guessing = Rate(len(train) / len(sides.samples), len(train))
    listing = ", ".join(sides.names[column] for column in halves[0][:MOST_TOLD])
    return _attack_measurement(
        Attack(rate(train), rate(held_out), guessing), context, f" By {listing} on one side, the others on the other."
    )


def inference(samples: Records, context: Context) -> Measurement:
    """The risk that the nearest sample by all other columns tells a column's value (its range): of each column in turn, the class too."""
    draw = np.random.default_rng([context.seed, 11])
    sides = _sides(samples, context, draw)
    if len(sides.names) < 2:
        return _no_measurement(context, ONE_COLUMN)
    train, held_out = _targets(sides, MOST_INFERRED, draw)
    right = np.stack([_right_inferences(rows, sides) for rows in (train, held_out)])  # (sides, rows)
    guessed = sides.samples[draw.integers(0, len(sides.samples), len(train))]
    secrets = np.arange(len(train)) % len(sides.names)
    chance = np.take_along_axis(guessed == train, secrets[:, None], axis=1)
    attack = Attack(*(Rate(float(np.sum(hits)), len(train)) for hits in (*right, chance)))
    return _attack_measurement(attack, context, f" {_most(right, secrets, sides.names)}")


def _right_inferences(rows: np.ndarray, sides: Sides) -> np.ndarray:
    """Whether the guess of each row's secret is right, bool (N,): columns in turn."""
    count, hits = len(sides.names), np.zeros(len(rows), dtype=bool)
    for secret in range(min(count, len(rows))):
        part = slice(secret, None, count)
        others = [column for column in range(count) if column != secret]
        guess = sides.samples[nearest(rows[part], sides.samples, sides.columns, others), secret]
        hits[part] = guess == rows[part, secret]
    return hits


def _most(right: np.ndarray, secrets: np.ndarray, names: tuple[str, ...]) -> str:
    """The column that is told most often of training rows beyond held-out ones, in words."""
    rates = [right[:, secrets == column].mean(axis=1) for column in range(len(names)) if np.any(secrets == column)]
    column = int(np.argmax([train - held_out for train, held_out in rates]))
    return f"Most of {names[column]}: {rates[column][0]:.1%} and {rates[column][1]:.1%} of {int(np.sum(secrets == column))}."


def _sides(samples: Records, context: Context, draw: np.random.Generator) -> Sides:
    labelled = samples.labels is not None
    made, train, held_out = (
        table_of(part, context.dataset.facts, labelled) for part in (samples, context.dataset.train, context.dataset.held_out)
    )
    ordered = tuple(max(len(column.edges) - 1, 0) for column in TableKind.of(context.dataset.facts.kind).columns)
    columns = Columns(made.sizes, (0,) * (len(made.sizes) - len(ordered)) + ordered)
    return Sides(made.rows[draw.permutation(len(made.rows))[:MOST_SEARCHED]], train.rows, held_out.rows, columns, made.names)


def _targets(sides: Sides, most: int, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Equally many training and held-out rows, drawn."""
    size = min(len(sides.train), len(sides.held_out), most)
    train, held_out = (rows[draw.permutation(len(rows))[:size]] for rows in (sides.train, sides.held_out))
    return train, held_out


def _attack_measurement(attack: Attack, context: Context, more: str = "") -> Measurement:
    value, interval = attack.risk
    return Measurement(value, interval, context.dataset.facts.kind.feature_label, attack.words + more)


def _no_measurement(context: Context, note: str) -> Measurement:
    return Measurement(0.0, None, context.dataset.facts.kind.feature_label, note)
