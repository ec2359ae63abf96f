"""Presets of AIM."""

from workbench.methods.base import Method, Preset

PRESETS = Method.presets | {
    "claim-1": Preset(
        "The noise multiplier whose claim is epsilon 1 at delta 1e-5, by the paper's formula.",
        lambda _facts: {"noise_multiplier": 4.0452},
        lambda _facts: 1e-5,
    ),
}
