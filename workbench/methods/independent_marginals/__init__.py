"""Independent marginals, the floor of tables: one Gaussian release of how often each category occurs. No network."""

from workbench.methods.independent_marginals.method import MARGINALS, IndependentMarginals, IndependentMarginalsConfig

__all__ = ["MARGINALS", "IndependentMarginals", "IndependentMarginalsConfig"]
