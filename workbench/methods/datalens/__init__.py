"""DataLens (Wang et al. 2021)."""

from workbench.methods.datalens.method import DataLens, DataLensConfig

__all__ = ["DataLens", "DataLensConfig"]
