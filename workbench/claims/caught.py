"""Claims that an attack was measured to contradict, as `workbench caught` wrote them; nothing is attacked here."""

from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from workbench.privacy.accounting.values import PrivacyValue

FILE = Path(__file__).with_name("caught.json")


class AttackResult(BaseModel):
    """A claim at a small setting, and the lower bound that an attack on what it covers has at `confidence`.

    `game`: the two data sets, and what is told apart. `observed`: what the attacker sees, all of it covered by the claim. `missed` of
    `trials` runs with the record and `accused` of as many without it were judged wrongly.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    game: str
    observed: str
    relation: str
    claim: float
    epsilon: float
    delta: float
    confidence: float
    trials: int
    missed: int
    accused: int

    @property
    def is_caught(self) -> bool:
        """Whether the lower bound is above the claim."""
        return self.epsilon > self.claim

    @property
    def words(self) -> str:
        """A sentence of it all."""
        verdict = "above" if self.is_caught else "not above"
        return (
            f"Attacked: {self.game}. By {self.observed}, the record is missed in {self.missed} of {self.trials} trials and seen in "
            f"{self.accused} of {self.trials} without it: at least epsilon {self.epsilon:.4g} at {self.confidence:.0%} confidence, "
            f"{verdict} the {self.claim:.4g} that the paper's formula gives there."
        )

    @property
    def value(self) -> PrivacyValue:
        """The third number of its row."""
        return PrivacyValue(
            epsilon=self.epsilon,
            delta=self.delta,
            status="measured",
            neighboring_relation=self.relation,
            reason=self.words,
            source=f"workbench caught {self.name}",
        )


Results = TypeAdapter(tuple[AttackResult, ...])


def attack_of(name: str) -> AttackResult | None:
    """What was measured of a row of the claims table, or None."""
    return _kept_results().get(name)


def attacked_rows() -> tuple[str, ...]:
    """The rows of the claims table that an attack was made on."""
    return tuple(_kept_results())


@cache
def _kept_results() -> dict[str, AttackResult]:
    return {result.name: result for result in Results.validate_json(FILE.read_text())}
