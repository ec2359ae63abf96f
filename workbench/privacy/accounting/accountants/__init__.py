"""Accountants over events: each an epsilon of mechanisms at a delta; `proved_bound` is the smallest proved one."""

from collections.abc import Callable

from workbench.privacy.accounting.accountants import gdp, pld, rdp
from workbench.privacy.accounting.accountants.bounds import (
    accountant_values,
    epsilon_poisson_gaussian,
    event_bound,
    proved_bound,
    replace_one_bound,
    shared_relation,
)
from workbench.privacy.accounting.accountants.mechanisms import Composition

ACCOUNTANTS: dict[str, Callable[[Composition, float], float]] = {
    "gdp": gdp.epsilon,
    "rdp": rdp.epsilon,
    "pld": pld.epsilon,
}

__all__ = [
    "ACCOUNTANTS",
    "accountant_values",
    "epsilon_poisson_gaussian",
    "event_bound",
    "proved_bound",
    "replace_one_bound",
    "shared_relation",
]
