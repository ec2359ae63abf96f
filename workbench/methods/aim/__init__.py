"""AIM: marginals chosen round by round where the model is worst, and a graphical model of all of them. No network."""

from workbench.methods.aim.method import AIM, CHOICE, ESTIMATE, MARGINALS, ONE_WAY, AIMConfig

__all__ = ["AIM", "CHOICE", "ESTIMATE", "MARGINALS", "ONE_WAY", "AIMConfig"]
