"""Presets of Private Evolution."""

from workbench.methods.base import Method, Preset

PRESETS = Method.presets | {
    "claim-1": Preset(
        "Four rounds at the noise whose claim is epsilon 1 at the paper's delta for 55 000 images, 1/(n ln n); the rest suits the dataset.",
        lambda _facts: {"selection.rounds": 4, "selection.noise_multiplier": 8.23794},
        lambda _facts: 1.66575e-6,
    )
}
