"""The noise levels that an EDM sampler visits."""

from workbench.errors import WorkbenchError


def karras_sigmas(num_inference_steps: int, sigma_min: float = 0.002, sigma_max: float = 80.0, rho: float = 7.0) -> list[float]:
    """`num_inference_steps` noise levels falling from `sigma_max` to `sigma_min`, evenly in sigma^(1/rho), then 0.

    (Karras et al. 2022, eq. 5.) A single level is `sigma_max`.
    """
    if num_inference_steps < 1 or not 0.0 < sigma_min < sigma_max:
        raise WorkbenchError(
            f"Expected at least 1 step and 0 < sigma_min < sigma_max, got {num_inference_steps} steps from {sigma_max} to {sigma_min}."
        )
    first, last = sigma_max ** (1.0 / rho), sigma_min ** (1.0 / rho)
    share = 1.0 / max(num_inference_steps - 1, 1)
    return [(first + step * share * (last - first)) ** rho for step in range(num_inference_steps)] + [0.0]
