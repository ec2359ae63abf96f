"""What a method costs: events, accountants, calibration, budgets, and what an epsilon means. No torch.

Public names are loaded on first use, so that importing the package is quick.
"""

from typing import TYPE_CHECKING

from workbench.lazy import lazy_names

if TYPE_CHECKING:
    from workbench.privacy.accounting import events
    from workbench.privacy.accounting.accountants import ACCOUNTANTS
    from workbench.privacy.accounting.accountants.prv import prv_bracket
    from workbench.privacy.accounting.bounds import accountant_values, epsilon_poisson_gaussian, event_bound, proved_bound
    from workbench.privacy.accounting.calibration import calibrate_integer, calibrate_real
    from workbench.privacy.accounting.curves import epsilon_curve, poisson_gaussian_curve
    from workbench.privacy.accounting.events import event_from_json, event_to_json
    from workbench.privacy.accounting.groups import group_bound
    from workbench.privacy.accounting.stages import Stage, compose
    from workbench.privacy.accounting.values import PrivacyValue
    from workbench.privacy.accounting.zero_out import zero_out
    from workbench.privacy.attacks import audit, tradeoff
    from workbench.privacy.not_dp import pac, per_instance
    from workbench.privacy.spending.ledger import Ledger

_MODULES = {
    "audit": "attacks.audit",
    "events": "accounting.events",
    "pac": "not_dp.pac",
    "per_instance": "not_dp.per_instance",
    "tradeoff": "attacks.tradeoff",
}
_NAMES = {
    "Stage": "accounting.stages",
    "compose": "accounting.stages",
    "PrivacyValue": "accounting.values",
    "ACCOUNTANTS": "accounting.accountants",
    "accountant_values": "accounting.bounds",
    "epsilon_poisson_gaussian": "accounting.bounds",
    "event_bound": "accounting.bounds",
    "proved_bound": "accounting.bounds",
    "epsilon_curve": "accounting.curves",
    "poisson_gaussian_curve": "accounting.curves",
    "group_bound": "accounting.groups",
    "prv_bracket": "accounting.accountants.prv",
    "calibrate_integer": "accounting.calibration",
    "calibrate_real": "accounting.calibration",
    "event_from_json": "accounting.events",
    "event_to_json": "accounting.events",
    "zero_out": "accounting.zero_out",
    "Ledger": "spending.ledger",
}

__all__ = [
    "ACCOUNTANTS",
    "Ledger",
    "PrivacyValue",
    "Stage",
    "accountant_values",
    "audit",
    "calibrate_integer",
    "calibrate_real",
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

__getattr__, __dir__ = lazy_names(__name__, __all__, names=_NAMES, modules=_MODULES)
