"""The look of a method: its colour and symbol, the same on every chart."""

from collections.abc import Iterable

from workbench.measured import FLOOR
from workbench.methods import METHODS
from workbench.ui.theme import GREY, SERIES

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon", "triangle-down", "pentagon", "triangle-right")
COLOURS = tuple(colour for colour in SERIES if colour != GREY)  # grey is what stands back: the floor, and methods that nobody picked
OFTEN = ("selective-pretraining", "private-evolution", "prior-moments", "dp-promise", "dp-merf", "private-classifier")


def look_of(method: str) -> tuple[str, str]:
    """Colour and symbol of a method, the same on every chart; the floor is grey.

    Methods that are often looked at together come first and differ in colour. No two have the same colour and symbol, but for names in no
    registry.
    """
    if method == FLOOR:
        return GREY, "line-ew"
    order = [*OFTEN, *(name for name in METHODS if name not in OFTEN)]
    place = order.index(method) if method in order else sum(map(ord, method))
    around, colour = divmod(place, len(COLOURS))
    return COLOURS[colour], SYMBOLS[(colour + around) % len(SYMBOLS)]


def looks_of(lines: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The look of each line, which begins with its method's name; further lines of a method have its colour and another symbol."""
    looks: dict[str, tuple[str, str]] = {}
    for line in lines:
        colour, symbol = look_of(line.partition(" ")[0].rstrip(","))
        taken = {other for other_colour, other in looks.values() if other_colour == colour}
        free = [one for one in (symbol, *SYMBOLS) if one not in taken]
        looks[line] = colour, free[0] if free else symbol
    return looks
