"""DP-SGD DM, the plain baseline of dp-promise (Wang et al. 2024, section 6.1): public pre-training, then DP-SGD at all time steps."""

from workbench.methods.dp_sgd_dm.method import DPSGDDM, DPSGDDMConfig

__all__ = ["DPSGDDM", "DPSGDDMConfig"]
