"""What MST claims."""

import math

from workbench.methods.base import Reading
from workbench.privacy.accounting.values import PrivacyValue

SOURCE = "McKenna, Miklau and Sheldon 2021 (MST), by Renyi divergences"
READINGS = {
    "mst": Reading(
        title="MST",
        preset="claim-1",
        formula="epsilon = rho + 2 sqrt(rho log(1/delta)), rho = 1/(2 sigma^2) of all releases together",
        notation={"noise_multiplier": "sigma"},
        dataset="breast-cancer",
    )
}


def claimed(*, noise_multiplier: float, delta: float) -> PrivacyValue:
    """Order a costs a rho: the least of a rho + log(1/delta)/(a - 1) over all a, add/remove."""
    rho = 1.0 / (2.0 * noise_multiplier**2)
    epsilon = rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))
    return PrivacyValue(epsilon=epsilon, delta=delta, status="proved", neighboring_relation="ADD_OR_REMOVE_ONE", source=SOURCE)
