"""What a teaching panel consists of: words, pictures, charts and tables, described once for the page and for a file of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pandas as pd
import plotly.graph_objects as go
from PIL import Image


@dataclass(frozen=True)
class Words:
    """A paragraph, or a heading."""

    text: str
    is_heading: bool = False


@dataclass(frozen=True)
class Pictures:
    """Pictures below one another, each with its name beside it and a description."""

    rows: Sequence[tuple[str, Image.Image]]
    alt: str


@dataclass(frozen=True)
class Chart:
    """A chart with a name of one word, a description, and its numbers."""

    name: str
    figure: go.Figure
    alt: str
    table: pd.DataFrame


@dataclass(frozen=True)
class Numbers:
    """A small table, and what it is."""

    frame: pd.DataFrame
    alt: str


@dataclass(frozen=True)
class Beside:
    """Parts side by side, where there is room."""

    columns: Sequence[Sequence["Part"]]


@dataclass(frozen=True)
class Frames:
    """One of several states: a page shows the chosen one, which it has a widget for; a file has a slider over all of them."""

    label: str
    choices: Sequence[str]
    chosen: int
    parts: Callable[[int], Sequence["Part"]]


@dataclass(frozen=True)
class Guesses:
    """What a visitor guesses of, for a file, which asks by itself: a picture, a score and the truth of each run.

    `chart` is the name of the chart whose trace `trace` shows how well it went; a page asks by widgets.
    """

    pictures: Sequence[Image.Image]
    scores: Sequence[float]
    truth: Sequence[bool]
    target: Image.Image
    chart: str
    trace: int


Part: TypeAlias = Words | Pictures | Chart | Numbers | Beside | Frames | Guesses
