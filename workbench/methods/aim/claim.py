"""What AIM claims."""

import math

from scipy.optimize import brentq

from workbench.methods.base import Reading
from workbench.privacy.accounting.values import PrivacyValue

SOURCE = "McKenna, Mullins, Sheldon and Miklau 2022 (AIM), by zero-concentrated divergences"
READINGS = {
    "aim": Reading(
        title="AIM",
        preset="claim-1",
        formula="rho = 1/(2 sigma^2) of all releases together; epsilon the least with "
        "delta >= min over a of e^((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1)",
        notation={"noise_multiplier": "sigma"},
        dataset="breast-cancer",
    )
}


def claimed(*, noise_multiplier: float, delta: float) -> PrivacyValue:
    """The conversion of Canonne, Kamath and Steinke 2020, as the paper has it: solved for epsilon, the least over all orders a > 1."""
    rho = 1.0 / (2.0 * noise_multiplier**2)

    def epsilon(order: float) -> float:
        return order * rho + math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / (order - 1.0)

    def slope(log_order: float) -> float:  # of epsilon, times (order - 1)^2
        order = 1.0 + math.exp(log_order)
        return rho * (order - 1.0) ** 2 + math.log(delta) + math.log(order)

    best = float(brentq(slope, -30.0, 30.0))  # pyright: ignore[reportArgumentType]
    least = max(0.0, epsilon(1.0 + math.exp(best)))
    return PrivacyValue(epsilon=least, delta=delta, status="proved", neighboring_relation="ADD_OR_REMOVE_ONE", source=SOURCE)
