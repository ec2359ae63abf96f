"""95 % intervals of shares and estimates."""

import math

Z95 = 1.959963984540054  # 97.5 % quantile of the standard normal distribution


def wilson(share: float, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share seen in `total` independent trials (Wilson 1927)."""
    centre = (share + Z95**2 / (2 * total)) / (1 + Z95**2 / total)
    half = Z95 / (1 + Z95**2 / total) * math.sqrt(share * (1 - share) / total + Z95**2 / (4 * total**2))
    return (centre - half if share > 0 else 0.0), (centre + half if share < 1 else 1.0)  # there exact, where rounding leaves 1e-19


def normal(value: float, error: float | None, low: float = -math.inf, high: float = math.inf) -> tuple[float, float] | None:
    """value +- 1.96 standard errors within [low, high]; None without an error."""
    if error is None:
        return None
    return max(low, value - Z95 * error), min(high, value + Z95 * error)
