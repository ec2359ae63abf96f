"""What a bound allows anybody to find out about one record, in sentences."""

import math

from workbench.privacy.attacks import tradeoff
from workbench.ui.formats import number

FALSE_ALARMS = 0.01
GUESSES = 1_000
NO_LIMIT = "An infinite epsilon limits no attack: whoever sees the result may become certain that a record was in the data."


def sentences(epsilon: float, delta: float) -> list[str]:
    """What (epsilon, delta) allows anybody to find out about one record, worst case, each in a sentence."""
    most = float(tradeoff.posterior_belief(0.5, epsilon))
    hit_rate = tradeoff.attack_rates(epsilon, delta, (FALSE_ALARMS,))[FALSE_ALARMS]
    right = right_guesses(epsilon, delta)
    return [
        f"Every event in the result is at most **{number(math.exp(epsilon))} times** as likely with a record as without "
        f"it, plus a chance of {number(delta)}.",
        f"Somebody who thinks it even odds whether a person took part can become **{percent(most)}** sure at most, except with a "
        f"chance of about {number(delta)}.",
        f"Of {GUESSES:,} coin flips that decide who takes part, the best attacker guesses at most **{math.floor(right * GUESSES):,}** "
        f"right, where {GUESSES // 2} are blind luck.",
        f"An attacker who accuses one outsider in a hundred falsely finds at most **{percent(hit_rate)}** of those who took part.",
        strength(epsilon),
    ]


def right_guesses(epsilon: float, delta: float) -> float:
    """The largest share of right guesses about a fair coin: (e^eps + delta) / (1 + e^eps), the trade-off's corner."""
    return 1 - (1 - delta) / (1 + math.exp(epsilon))


def strength(epsilon: float) -> str:
    """How such a bound is to be taken: by what it rules out, not by a name that somebody gave it."""
    if epsilon <= 1:
        return "Such a bound protects by itself: even the best attacker stays near guessing."
    if epsilon <= 10:
        return "Such a bound still limits every attack, but a determined one may succeed on unlucky records. Look at an audit too."
    return "Such a bound rules out little by itself. If attacks fail all the same, that is their weakness and no proof."


def percent(share: float) -> str:
    """A share in per cent, with as many nines as it takes never to read as certainty."""
    digits = 1 if share <= 0.99 else min(9, 1 - math.floor(math.log10(max(1 - share, 1e-11))) - 2)
    return f"{math.floor(share * 10 ** (digits + 2)) / 10**digits:.{digits}f} %"
