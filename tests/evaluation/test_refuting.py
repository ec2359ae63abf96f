"""Attacks on unproved claims: what each sees, what it makes of it, and that an intact step is not accused."""

import numpy as np
import pytest

from workbench.claims import claims_table
from workbench.claims.caught import attack_of
from workbench.evaluation.refuting import ATTACKS, attack_claim, dp_promise, dp_sad
from workbench.privacy.attacks.audit import two_sided_epsilon


@pytest.mark.parametrize("name", ATTACKS)
def test_a_claim_of_1_is_caught_in_few_trials(name: str) -> None:
    refutation = attack_claim(name, ATTACKS[name], trials=60)
    assert refutation.claim <= 1.0 < refutation.epsilon
    assert refutation.is_caught
    assert refutation.accused == 0
    assert refutation.epsilon == pytest.approx(two_sided_epsilon(refutation.missed, 60, 0, 60, 1e-5, 0.01))
    assert f"{refutation.missed} of 60" in refutation.words


@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_shown_is_of_the_attack_as_it_stands(name: str) -> None:
    shown = attack_of(name)
    assert shown is not None
    assert (shown.game, shown.observed, shown.trials, shown.confidence) == (ATTACKS[name].game, ATTACKS[name].observed, 2000, 0.99)
    assert shown.claim == pytest.approx(ATTACKS[name].claim().epsilon)
    assert shown.epsilon > shown.claim
    assert shown.epsilon == pytest.approx(two_sided_epsilon(shown.missed, 2000, shown.accused, 2000, shown.delta, 0.01))
    assert {row.method for row in claims_table() if row.caught is not None} == set(ATTACKS)


def test_noise_that_is_not_divided_hides_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same attack on the same step with the noise that Theorem 4 speaks of: sigma C / B."""
    monkeypatch.setitem(dp_sad.SETTINGS["student"], "noise_multiplier", dp_sad.NOISE * dp_sad.TIMESTEPS)
    accused = [ATTACKS["dp-sad"].accuses(joined, 7) for joined in (True, False)]
    assert accused == [True, True], "noise alone is above the threshold, whoever takes part"


def test_the_span_holds_members_alone() -> None:
    images = dp_promise._patterns()
    for joined in (True, False):
        rows, columns = dp_promise._bases(dp_promise._weights_after_a_step(images, joined, 3))
        span, _ = np.linalg.qr(np.concatenate([rows[:, :8], columns[:, :8]], axis=1))
        away = [np.linalg.norm(x - span @ (span.T @ x)) / np.linalg.norm(x) for x in images.reshape(9, -1)]
        assert max(away[1:8]) < 1e-6
        assert (away[0] < 1e-6, away[8] < 1e-6) == (joined, not joined)
        assert max(away) > 0.5
