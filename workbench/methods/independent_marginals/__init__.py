"""Independent marginals, the floor of tables: one Gaussian release of how often each category occurs. No network."""

from workbench.methods.independent_marginals.config import IndependentMarginalsConfig
from workbench.methods.independent_marginals.method import IndependentMarginals
from workbench.methods.independent_marginals.stages import MARGINALS

__all__ = ["MARGINALS", "IndependentMarginals", "IndependentMarginalsConfig"]
