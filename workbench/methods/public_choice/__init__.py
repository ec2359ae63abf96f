"""Which public images suit the private ones: each record votes once for the public dataset that has the image nearest to it."""

from workbench.methods.public_choice.method import PublicChoice, PublicChoiceConfig

__all__ = ["PublicChoice", "PublicChoiceConfig"]
