"""Attacks on what unproved claims cover: a record told from its absence by many small runs, at settings that claim little."""

from workbench.evaluation.refuting.attack import Attack, attack_claim
from workbench.evaluation.refuting.dp_cgan import BatchLabels
from workbench.evaluation.refuting.dp_feta import LonelyRecord
from workbench.evaluation.refuting.dp_kernel import ConstantNoise
from workbench.evaluation.refuting.dp_promise import PaperTargets
from workbench.evaluation.refuting.dp_sad import OutputClipping
from workbench.evaluation.refuting.dp_sinkhorn import BatchSize
from workbench.evaluation.refuting.p3gm import ExactMean
from workbench.evaluation.refuting.privimage import KnownNoise
from workbench.evaluation.refuting.recovery import Responses

ATTACKS: dict[str, Attack] = {
    "dp-cgan-coded": BatchLabels(),
    "dp-kernel": ConstantNoise(),
    "dp-promise": PaperTargets(),
    "dp-sinkhorn-realised": BatchSize(),
    "dp-feta-realised": LonelyRecord(),
    "privimage-known-noise": KnownNoise(),
    "p3gm-exact": ExactMean(),
    "dp-sad": OutputClipping(),
    "dpgen": Responses("dpgen"),
    "p3dm": Responses("p3dm"),
}

__all__ = ["ATTACKS", "Attack", "attack_claim"]
