"""Accountants over events: each an epsilon of mechanisms at a delta, and what that epsilon proves. Adding one is one entry."""

from workbench.privacy.accounting.accountants import gdp, pld, rdp
from workbench.privacy.accounting.accountants.accountant import Accountant

ACCOUNTANTS: dict[str, Accountant] = {
    "gdp": Accountant("GDP", gdp.epsilon, status="approximation", is_exact=gdp.is_exact),
    "rdp": Accountant("RDP", rdp.epsilon),
    "pld": Accountant("PLD", pld.epsilon, ground=pld.ground, quick_epsilon=pld.quick_epsilon),
}

__all__ = ["ACCOUNTANTS", "Accountant"]
