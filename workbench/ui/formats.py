"""Numbers as a reader wants them."""

import math

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 3) -> str:
    """`value` to `digits` significant figures; ∞ for infinity and an en dash for nothing."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}×10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def counted(amount: int | str, noun: str) -> str:
    """`1 step`, `1,200 steps`; an amount in words stays as it is."""
    shown = f"{amount:,}" if isinstance(amount, int) else amount
    return f"{shown} {noun}" if shown == "1" else f"{shown} {noun}s"


def deviations(mu: float) -> str:
    """A distance of `mu` standard deviations in words."""
    return counted(number(mu), "standard deviation")


def duration(seconds: float | None) -> str:
    """Seconds as `40 s`, `3 min 20 s` or `2 h 5 min`; an en dash for nothing."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def memory(num_bytes: float | None) -> str:
    """Bytes as KiB, MiB or GiB; an en dash for nothing."""
    if num_bytes is None:
        return "–"
    mebibytes = num_bytes / 2**20
    if mebibytes < 1:
        return f"{num_bytes / 2**10:.0f} KiB"
    return f"{mebibytes:.0f} MiB" if mebibytes < 1024 else f"{mebibytes / 1024:.1f} GiB"


def words(name: str) -> str:
    """A field's name as a label: `phase_two.noise_multiplier` becomes `Phase two: noise multiplier`."""
    text = name.replace("_", " ").replace("-", " ").replace(".", ": ") if "_" in name or "." in name else name
    return text[:1].upper() + text[1:]
