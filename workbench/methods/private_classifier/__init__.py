"""A private classifier: linear on scattering features that public images scale, by noisy gradients of all records.

Released is the classifier. Samples are public images that it is surest of, under the labels that it gives them.
"""

from workbench.methods.private_classifier.config import PrivateClassifierConfig
from workbench.methods.private_classifier.method import PrivateClassifier

__all__ = ["PrivateClassifier", "PrivateClassifierConfig"]
