"""dp-promise's Definition 4: a coin decides whether the adversary is shown a training record or another one, and it says which."""

from __future__ import annotations

import math

import numpy as np
from pydantic import BaseModel, ConfigDict

from workbench.errors import WorkbenchError
from workbench.privacy.attacks.audit import clopper_pearson


class GameResult(BaseModel):
    """How often the adversary was right, and its advantage 2 P[right] - 1 with Clopper and Pearson's 95 % interval; 0 is guessing.

    `most` is what the model's bound leaves to any adversary, None where there is no finite one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: str
    games: int
    right: int
    advantage: float
    interval: tuple[float, float]
    most: float | None
    releasable: bool = False


def play(score: str, members: np.ndarray, others: np.ndarray, games: int, seed: int = 0, most: float | None = None) -> GameResult:
    """Games on one trained model, by scores (N,) of training records and (M,) of records of the same distribution, small for a member.

    White-box membership inference of Definition 4 (dp-promise 2024): the coin falls, a record is shown, the adversary answers. It knows
    the distribution, so a half of `others` fixes its rule beforehand: "trained on" below their median. Every record is shown at most
    once, so that the games are independent given the model. `most` goes into the result as it is.
    """
    draw = np.random.default_rng(seed)
    known, shown = np.split(draw.permutation(others), [len(others) // 2])
    coins = draw.random(games) < 0.5
    sides = {True: draw.permutation(members), False: shown}
    if len(known) < 2 or games < 1 or any((coins == side).sum() > len(records) for side, records in sides.items()):
        raise WorkbenchError(f"Expected records enough to show each once in {games} games, got {len(members)} and {len(shown)} of D's.")
    threshold = float(np.median(known))
    right = sum(int(((sides[side][: (coins == side).sum()] < threshold) == side).sum()) for side in (True, False))
    rate = clopper_pearson(right, games)
    return GameResult(
        score=score,
        games=games,
        right=right,
        advantage=2 * rate.value - 1,
        interval=(2 * rate.low - 1, 2 * rate.high - 1),
        most=most,
    )


def most_advantage(epsilon: float, delta: float) -> float:
    """(e^eps - 1 + 2 delta)/(e^eps + 1), the largest TPR - FPR under (eps, delta)-DP (Kairouz, Oh and Viswanath 2017).

    That is a total variation distance. Definition 4's two worlds have one record or another in the same place. Where a bound
    compares a record with none there, the world with none is so far from both at most, and they are twice as far apart at most.
    """
    return math.tanh(epsilon / 2) + 2 * delta / (math.exp(min(epsilon, 700.0)) + 1)
