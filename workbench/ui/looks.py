"""How each method looks on every chart."""

from workbench.measured import FLOOR
from workbench.methods import METHODS
from workbench.ui.charts import SYMBOLS
from workbench.ui.theme import GREY, SERIES

OFTEN = ("selective-pretraining", "private-evolution", "prior-moments", "dp-promise", "dp-merf", "private-classifier")


def look_of(method: str) -> tuple[str, str]:
    """Colour and symbol of a method, the same on every chart; the floor is grey.

    Methods that are often looked at together come first, so that they differ in colour; all others differ in colour or symbol.
    """
    if method == FLOOR:
        return GREY, "line-ew"
    order = [*OFTEN, *(name for name in METHODS if name not in OFTEN)]
    place = order.index(method) if method in order else sum(map(ord, method))
    return SERIES[place % (len(SERIES) - 1)], SYMBOLS[place % len(SYMBOLS)]
