"""What DP-Diffusion claims: the RDP of its DP-SGD steps."""

from workbench.methods.base import Reading

FORMULA = "RDP of the Poisson-sampled Gaussian over all steps"
NOTATION = {"num_records": "", "fine_tuning.batch_size": "", "fine_tuning.noise_multiplier": "", "fine_tuning.steps": ""}
READINGS = {
    "dp-diffusion": Reading(
        "DP-Diffusion: DP-SGD fine-tuning with augmentation multiplicity and a time-step mixture", "published", FORMULA, NOTATION
    )
}
