"""What an accountant is: a function, its name, and what its value proves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from workbench.privacy.accounting.accountants.mechanisms import Composition

EpsilonOf = Callable[[Composition, float], float]
MEANINGS = {"proved": "upper bound", "approximation": "approximation, may under-report"}


def never(_composition: Composition) -> bool:
    """No composition."""
    return False


@dataclass(frozen=True)
class Accountant:
    """`epsilon(composition, delta)` bounds or approximates the epsilon of mechanisms; it refuses by name those it does not know.

    A value of status "proved" is an upper bound; one of status "approximation" is a bound only where `is_exact`.
    `ground` names a bound that rests on it (default: the title); `quick_epsilon` serves curves: the same in kind, but coarser.
    """

    title: str
    epsilon: EpsilonOf
    status: Literal["proved", "approximation"] = "proved"
    is_exact: Callable[[Composition], bool] = never
    ground: Callable[[Composition, float], str] | None = None
    quick_epsilon: EpsilonOf | None = None

    def proves(self, composition: Composition) -> bool:
        """Whether the value for `composition` is an upper bound."""
        return self.status == "proved" or self.is_exact(composition)

    @property
    def meaning(self) -> str:
        """What a value is, where nothing is known of the mechanisms."""
        return MEANINGS[self.status]

    @property
    def label(self) -> str:
        """The title, with a warning where a value is no bound."""
        return self.title if self.status == "proved" else f"{self.title} ({self.status})"

    @property
    def words(self) -> str:
        """Title and meaning."""
        return f"{self.title} ({self.meaning})"

    def named_ground(self, composition: Composition, delta: float) -> str:
        """What the bound is called that rests on this accountant's value."""
        exact = f"{self.title}, exact" if self.is_exact(composition) else self.title
        return self.ground(composition, delta) if self.ground else exact
