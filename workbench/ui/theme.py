"""Colours and words that mean the same on every page."""

from typing import Any, Final, Literal

import numpy as np
import streamlit as st
from PIL import Image

from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.ui.words import words_popover

# Okabe and Ito's palette: told apart with every common form of colour blindness, and by dash where lines cross.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"

GREY: Final = "#77848c"  # 3 to 1 and better on the ground of either theme
SERIES: Final = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY)

EXACT: Final = " exact"  # after the name of an approximation, where it is exact and hence a bound
CLAIMED: Final = " claimed"  # after the name of an accountant, where it is asked of what a paper analyses: no bound, whoever says it
BOUND_COLOURS: Final = (VERMILION, BLUE, ORANGE, PURPLE, SKY)  # of the accountants that prove bounds, in the registry's order

BadgeColour = Literal["red", "orange", "blue", "green", "violet", "gray"]

STATUS_WORDS: Final = {
    "proved": "proved upper bound",
    "approximation": "approximation, may under-report",
    "not_proved": "not proved",
    "refuted": "refuted",
    "not_evaluated": "not evaluated",
    "measured": "measured lower bound",
}
CLAIM_WORDS: Final = STATUS_WORDS | {"proved": "proved for its relation"}  # of the paper's number, which may have another than the bound
BOUND_WORDS: Final = STATUS_WORDS | {"refuted": "none: the claim is refuted"}  # of our own number in a table
STATUS_COLOURS: Final[dict[str, BadgeColour]] = {
    "proved": "green",
    "approximation": "orange",
    "not_proved": "gray",
    "refuted": "red",
    "not_evaluated": "gray",
    "measured": "blue",
}

STATE_COLOURS: Final[dict[str, BadgeColour]] = {
    "queued": "gray",
    "pending": "gray",
    "starting": "blue",
    "running": "blue",
    "paused": "orange",
    "cancelling": "orange",
    "cancelled": "gray",
    "done": "green",
    "failed": "red",
    "lost": "red",
}

TEXT: Final = 15  # pixels of a chart's words: no smaller than the page's own, so that they are read from the last row

# No colour of its own but the ground of white words, the light theme's accent in either: a theme that is chosen in the browser's menu holds
# at once, and what was drawn here would keep the old one.
_STYLE = """
<style>
  ::placeholder { color: inherit !important; opacity: 0.75 !important; }
  [data-testid="stMetricLabel"] p { color: inherit; }
  [data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] p, [data-testid="stImageCaption"] { color: inherit; }
  [data-testid="stMetricLabel"], [data-testid="stCaptionContainer"], [data-testid="stImageCaption"] { opacity: 0.82; }
  [data-testid="stBaseButton-primary"], [data-testid="stMultiSelectTagsContainer"] [data-tag] { background-color: #0b6b74 !important; }
  .js-plotly-plot :is(.xtick text, .ytick text, .textpoint text, .xtitle, .ytitle, .annotation-text) { fill: currentColor !important; }
  .js-plotly-plot :is(.xtick text, .ytick text, .xtitle, .ytitle) { font-size: TEXTpx !important; }
  .stMarkdownBadge { white-space: normal !important; }
  :is([data-testid="stImage"], .neighbours) img { image-rendering: pixelated; outline: 1px solid #77848c55; border-radius: 0 !important; }
  .neighbours, .neighbours > div > div { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; }
  .neighbours > div > div { gap: 2px; }
  .neighbours :is(p, figure) { margin: 0; font-size: 0.875rem; }
  .neighbours figcaption { text-align: center; }
  .neighbours :is(p, figcaption) { opacity: 0.82; }
  [data-testid="stMainBlockContainer"] { padding-top: 4.25rem; }
  [data-testid="stHeading"] h1, [data-testid="stHeading"] h2 { padding: 0; }
  [data-testid="stNumberInput"]:has(input:placeholder-shown, input[step="0.01"]) button { display: none; }
</style>
"""


def accountant_line(name: str) -> tuple[str, dict[str, Any]]:
    """Legend and line of an accountant's curve: a bound is solid, an approximation grey and dashed, unless it is exact (EXACT).

    Of what a paper analyses (CLAIMED) every line is dashed, in the accountant's own colour.
    """
    if name.endswith(CLAIMED):
        plain = name.removesuffix(CLAIMED)
        return f"{ACCOUNTANTS[plain].title} (of the claim, no bound)", accountant_line(plain)[1] | {"dash": "dash"}
    accountant = ACCOUNTANTS[name.removesuffix(EXACT)]
    if name.endswith(EXACT):
        return f"{accountant.title} (exact here)", {"color": GREEN, "dash": "longdash", "width": 2.5}
    if not is_bound(name):
        return accountant.words, {"color": GREY, "dash": "dash", "width": 2.5}
    place = [known for known in ACCOUNTANTS if is_bound(known)].index(name)
    return accountant.words, {"color": BOUND_COLOURS[place % len(BOUND_COLOURS)], "dash": "solid", "width": 2.5}


def is_bound(name: str) -> bool:
    """Whether an accountant's values are upper bounds, everywhere or where they are exact (EXACT), and not of a claim (CLAIMED)."""
    if name.endswith(CLAIMED):
        return False
    return name.endswith(EXACT) or ACCOUNTANTS[name].status == "proved"


def apply_style() -> None:
    """Muted text and a chart's words at a contrast of 4.5 to 1 or better, whole badges, hard edges of small images, no idle button.

    Headings take no more room than their line, so that a page's first plot shows without scrolling on a projector.

    A number field that is empty has no value to step from, and a field of fractions no step that suits all of them.
    """
    st.html(_STYLE.replace("TEXTpx", f"{TEXT}px"))


def icon() -> Image.Image:
    """The page's icon, drawn here: a named one would be fetched from another server."""
    grid = np.clip(np.add.outer(np.arange(8), np.arange(8)) * 18, 0, 255)
    noise = np.random.default_rng(3).integers(0, 2, (8, 8)) * 70 * (np.arange(8) < 5)
    return Image.fromarray(np.clip(grid + noise, 0, 255).astype(np.uint8)).resize((64, 64), Image.Resampling.NEAREST)


def title(text: str, lead: str) -> None:
    """The page's one first-level heading, the sentence beside it, and the words of the workbench."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.title(text, anchor=False, width="content")
        st.caption(lead, width="content")
        words_popover()
