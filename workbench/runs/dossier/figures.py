"""The two pictures of a dossier as SVG: the three numbers on one axis, and the privacy profile. Equal values make equal pictures."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from workbench.escaping import html_text
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.privacy.accounting.profile import PrivacyProfile
from workbench.runs.dossier.values import Dossier

WIDTH, LEFT, RIGHT = 760, 60, 60
BLUE, VERMILION, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#77848c"
LINES = {"gdp": (GREY, "6 4"), "rdp": (VERMILION, ""), "pld": (BLUE, "2 3")}  # colour, as on the pages, and dash by accountant


class Mark(NamedTuple):
    """A number on the axis of epsilon: its name, colour, and the letters of its shape."""

    name: str
    value: float
    colour: str
    shape: str


class LogAxis(NamedTuple):
    """A logarithmic axis from `low` to `high`, whole powers of ten, over the pixels from `start` to `end`."""

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> "LogAxis":
        """An axis that holds the finite positive values."""
        exponents = [math.log10(value) for value in values if 0 < value < math.inf] or [0.0]
        low, high = math.floor(min(exponents)), math.ceil(max(exponents))
        return cls(low, max(high, low + 1), start, end)

    def at(self, value: float) -> float:
        """The pixel of a value; what is below the axis stands at its beginning."""
        share = (math.log10(value) - self.low) / (self.high - self.low) if value > 0 else 0.0
        return round(self.start + min(1.0, max(0.0, share)) * (self.end - self.start), 1)

    @property
    def ticks(self) -> list[float]:
        """1, 2 and 5 times the powers of ten, or these alone where there are many."""
        factors = (1, 2, 5) if self.high - self.low <= 3 else (1,)
        candidates = [factor * 10.0**power for power in range(self.low, self.high + 1) for factor in factors]
        return [tick for tick in candidates if tick <= 10.0**self.high * (1 + 1e-9)]


def number(value: float | None) -> str:
    """Four digits; an infinite value as its sign, a dash for none."""
    if value is None:
        return "–"
    return "∞" if math.isinf(value) else f"{value:.4g}"


def axis_picture(dossier: Dossier) -> str:
    """Claim, bound, and what an audit measured with its ceiling, on one logarithmic axis of epsilon."""
    marks = list(_marks(dossier))
    axis = LogAxis.over([mark.value for mark in marks], LEFT + 110, WIDTH - RIGHT - 60)
    height = 60 + 34 * len(marks)
    said = "; ".join(f"{mark.name} {number(mark.value)}" for mark in marks)
    parts = [_head(height, f"Epsilon on a logarithmic axis: {said}")]
    for tick in axis.ticks:
        x = axis.at(tick)
        parts.append(f'<line x1="{x}" x2="{x}" y1="8" y2="{height - 46}" stroke="{GREY}" stroke-opacity=".35"/>')
        parts.append(_text(x, height - 28, f"{tick:g}", "middle"))
    parts.append(_text(WIDTH - RIGHT - 20, height - 28, "∞", "middle"))
    parts.append(_text((axis.start + axis.end) / 2, height - 6, "epsilon", "middle"))
    for row, mark in enumerate(marks):
        y = 24 + 34 * row
        x = WIDTH - RIGHT - 20.0 if math.isinf(mark.value) else axis.at(mark.value)
        parts.append(_text(LEFT + 90, y + 4, mark.name, "end"))
        parts.append(f'<line x1="{axis.start}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" stroke="{GREY}" stroke-opacity=".35"/>')
        parts.append(_shape(x, y, mark))
        parts.append(_text(x + 12, y - 6, number(mark.value), "start"))
    return "".join([*parts, "</svg>"])


def profile_picture(profile: PrivacyProfile) -> str:
    """Delta over epsilon by every accountant, both as they stand; empty where no point is finite."""
    curves = {name: list(_curve(profile, name)) for name in ACCOUNTANTS}
    points = [point for curve in curves.values() for point in curve]
    if not points:
        return ""
    height, right = 300, max(epsilon for epsilon, _ in points)
    axis = LogAxis.over([delta for _, delta in points], height - 46, 12)
    across = (WIDTH - RIGHT - LEFT) / right
    parts = [_head(height, f"Delta over epsilon, from {axis.low} to {axis.high} in powers of ten; the numbers are in the table")]
    for power in range(axis.low, axis.high + 1):
        y = axis.at(10.0**power)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" stroke="{GREY}" stroke-opacity=".35"/>')
        parts.append(_text(LEFT - 6, y + 4, f"1e{power}", "end"))
    for share in range(5):
        value = right * share / 4
        parts.append(_text(LEFT + value * across, height - 28, f"{value:.3g}", "middle"))
    parts.append(_text(WIDTH / 2, height - 10, "epsilon (delta upwards)", "middle"))
    for place, (name, curve) in enumerate(curve for curve in curves.items() if curve[1]):
        colour, dash = LINES.get(name, (VERMILION, ""))
        path = " ".join(f"{round(LEFT + epsilon * across, 1)},{axis.at(delta)}" for epsilon, delta in curve)
        style = f'fill="none" stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"'
        parts.append(f'<polyline points="{path}" {style}/>')
        y = 20 + 18 * place
        parts.append(f'<line x1="{WIDTH - 250}" x2="{WIDTH - 215}" y1="{y}" y2="{y}" {style}/>')
        parts.append(_text(WIDTH - 208, y + 4, legend(profile, name), "start"))
    return "".join([*parts, "</svg>"])


def legend(profile: PrivacyProfile, name: str) -> str:
    """An accountant's title, and whether it proves a bound here."""
    proves = ACCOUNTANTS[name].status == "proved" or profile.mu_is == "exact"
    return f"{ACCOUNTANTS[name].title}{'' if proves else ' (approximation)'}"


def _marks(dossier: Dossier) -> Iterator[Mark]:
    card = dossier.card
    if card.claim.status != "not_evaluated":
        yield Mark("paper's claim", card.claim.epsilon, VERMILION, "diamond")
    yield Mark("upper bound", card.bound.epsilon, BLUE, "square")
    if card.audit is not None:
        yield Mark("audit, at least", card.audit.epsilon, GREEN, "circle")
        if dossier.audit_ceiling is not None:
            yield Mark("audit's ceiling", dossier.audit_ceiling, GREY, "circle")


def _curve(profile: PrivacyProfile, name: str) -> Iterator[tuple[float, float]]:
    for point in profile.points:
        epsilon = point.accountants.get(name)
        if epsilon is not None and math.isfinite(epsilon):
            yield epsilon, point.delta


def _shape(x: float, y: float, mark: Mark) -> str:
    shapes = {
        "diamond": f'<path d="M{x} {y - 8}L{x + 8} {y}L{x} {y + 8}L{x - 8} {y}Z" fill="none" stroke="{mark.colour}" stroke-width="2.5"/>',
        "square": f'<rect x="{x - 7}" y="{y - 7}" width="14" height="14" fill="{mark.colour}"/>',
        "circle": f'<circle cx="{x}" cy="{y}" r="7" fill="{mark.colour}"/>',
    }
    return shapes[mark.shape]


def _head(height: float, alt: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html_text(alt)}"><title>{html_text(alt)}</title>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{round(x, 1)}" y="{round(y, 1)}" text-anchor="{anchor}">{html_text(text)}</text>'
