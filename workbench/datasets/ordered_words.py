"""The order of categories: of numbers, of words that begin with one, of scales that everybody knows; else the alphabet's."""

import math
import re
from collections.abc import Collection

from workbench.datasets.declaration import number

SCALES: tuple[tuple[str, ...], ...] = (
    ("never", "rarely", "sometimes", "often", "always"),
    ("none", "very low", "low", "medium", "high", "very high"),
    ("none", "mild", "moderate", "severe"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("bad", "average", "good"),
    ("tiny", "small", "medium", "large", "huge"),
    ("young", "middle-aged", "old"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
    *(
        ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"),
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    ),
    ("xs", "s", "m", "l", "xl", "xxl"),
    ("no", "yes"),
    ("false", "true"),
)
LEADING = re.compile(r"[<>=\s]*(\d+(?:\.\d+)?)")


def ordered_words(texts: Collection[str]) -> list[str]:
    """The categories in their order: that of a scale that has all of them, else numbers first, by the number that each begins with."""
    words = {text: " ".join(text.lower().replace("_", " ").split()) for text in texts}
    scale = next((scale for scale in SCALES if set(words.values()) <= set(scale)), None)
    if scale is not None:
        return sorted(texts, key=lambda text: (scale.index(words[text]), text))
    return sorted(texts, key=in_order)


def in_order(text: str) -> tuple[float, str]:
    """What numbers, and words that begin with one, are ordered by, other texts after them by the alphabet."""
    value = number(text)
    if value is None and (leading := LEADING.match(text)):
        value = float(leading[1])
    return (math.inf if value is None else value, text)
