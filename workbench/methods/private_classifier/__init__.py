"""A private classifier: linear on scattering features that public images scale, by noisy gradients of all records."""

from workbench.methods.private_classifier.method import PrivateClassifier, PrivateClassifierConfig

__all__ = ["PrivateClassifier", "PrivateClassifierConfig"]
