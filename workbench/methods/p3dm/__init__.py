"""P3DM (Xu et al. 2024): DPGEN's score model, steered by a private classifier towards an attribute drawn at random. For study."""

from workbench.methods.p3dm.method import P3DM, P3DMConfig

__all__ = ["P3DM", "P3DMConfig"]
