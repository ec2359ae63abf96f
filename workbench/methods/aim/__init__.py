"""AIM: marginals chosen round by round where the model is worst, and a graphical model of all of them. No network."""

from workbench.methods.aim.config import AIMConfig
from workbench.methods.aim.method import AIM
from workbench.methods.aim.stages import CHOICE, ESTIMATE, MARGINALS, ONE_WAY

__all__ = ["AIM", "CHOICE", "ESTIMATE", "MARGINALS", "ONE_WAY", "AIMConfig"]
