"""Presets of Tab-PE."""

from workbench.methods.base import Method, Preset

PRESETS = Method.presets | {
    "claim-1": Preset(
        "Twenty rounds of 150 rows, as the paper's code has them for small tables, at the noise whose claim is epsilon 1 at delta 1e-5.",
        lambda _facts: {"rounds": 20, "records": 150, "noise_multiplier": 16.684, "share_of_columns": 0.0},
        lambda _facts: 1e-5,
    ),
}
