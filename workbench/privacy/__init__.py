"""What a method costs: events, accountants, calibration, claims, budgets, and what an epsilon means. No torch.

Public names are loaded on first use, so that importing the package is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.privacy import audit, claims, events, pac, per_instance, tradeoff
    from workbench.privacy.accountants import ACCOUNTANTS, accountant_values, epsilon_poisson_gaussian, event_bound, proved_bound
    from workbench.privacy.accountants.curves import epsilon_curve, poisson_gaussian_curve
    from workbench.privacy.accountants.groups import group_bound
    from workbench.privacy.accountants.prv import prv_bracket
    from workbench.privacy.calibration import calibrate_integer, calibrate_real
    from workbench.privacy.claims import CLAIMS, claims_markdown, claims_table
    from workbench.privacy.events import event_from_json, event_to_json, zero_out
    from workbench.privacy.ledger import Ledger
    from workbench.privacy.stages import Stage, compose
    from workbench.privacy.values import PrivacyValue

_MODULES = ("audit", "claims", "events", "ledger", "pac", "per_instance", "tradeoff")
_NAMES = {
    "Stage": "stages",
    "compose": "stages",
    "PrivacyValue": "values",
    "ACCOUNTANTS": "accountants",
    "accountant_values": "accountants",
    "epsilon_poisson_gaussian": "accountants",
    "event_bound": "accountants",
    "proved_bound": "accountants",
    "epsilon_curve": "accountants.curves",
    "poisson_gaussian_curve": "accountants.curves",
    "group_bound": "accountants.groups",
    "prv_bracket": "accountants.prv",
    "calibrate_integer": "calibration",
    "calibrate_real": "calibration",
    "CLAIMS": "claims",
    "claims_markdown": "claims",
    "claims_table": "claims",
    "event_from_json": "events",
    "event_to_json": "events",
    "zero_out": "events",
    "Ledger": "ledger",
}

__all__ = [
    "ACCOUNTANTS",
    "CLAIMS",
    "Ledger",
    "PrivacyValue",
    "Stage",
    "accountant_values",
    "audit",
    "calibrate_integer",
    "calibrate_real",
    "claims",
    "claims_markdown",
    "claims_table",
    "compose",
    "epsilon_curve",
    "epsilon_poisson_gaussian",
    "event_bound",
    "event_from_json",
    "event_to_json",
    "events",
    "group_bound",
    "pac",
    "per_instance",
    "poisson_gaussian_curve",
    "proved_bound",
    "prv_bracket",
    "tradeoff",
    "zero_out",
]


def __getattr__(name: str) -> Any:
    """Load the module that defines a public name on first use."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
