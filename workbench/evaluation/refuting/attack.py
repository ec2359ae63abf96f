"""What an attack on a claim has, and the lower bound that follows from many trials of it."""

from collections.abc import Callable
from typing import Protocol

from workbench.claims.caught import AttackResult
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.attacks.audit import membership_test

DELTA = 1e-5


class Attack(Protocol):
    """A game that a claim covers, and a rule that is fixed before it is played."""

    @property
    def game(self) -> str:
        """The setting and the two data sets, in words."""
        ...

    @property
    def observed(self) -> str:
        """What the attacker sees, in words."""
        ...

    def claim(self) -> PrivacyValue:
        """The paper's own formula at the game's setting."""
        ...

    def accuses(self, joined: bool, seed: int) -> bool:
        """Whether the rule says that the record took part in a run of its own, in which it did if it `joined`."""
        ...


def attack_claim(
    name: str,
    attack: Attack,
    trials: int,
    confidence: float = 0.99,
    seed: int = 0,
    report: Callable[[float], None] = lambda _share: None,
) -> AttackResult:
    """What `trials` runs with the record and as many without it prove, by Clopper and Pearson's bounds of both errors."""
    claim, errors = attack.claim(), {True: 0, False: 0}
    delta = claim.delta or DELTA  # what holds at delta 0 holds at any
    for trial in range(trials):
        for joined in errors:
            errors[joined] += attack.accuses(joined, 2 * (seed * trials + trial) + joined) != joined
        report((trial + 1) / trials)
    test = membership_test(errors[True], trials, errors[False], trials, delta, 1 - confidence)
    return AttackResult(
        name=name,
        game=attack.game,
        observed=attack.observed,
        relation=claim.neighboring_relation,
        claim=claim.epsilon,
        epsilon=test.epsilon,
        delta=delta,
        confidence=confidence,
        trials=trials,
        missed=errors[True],
        accused=errors[False],
    )
