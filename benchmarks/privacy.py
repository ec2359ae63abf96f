"""What the privacy core costs, against the limits that a page needs: curves, calibration, imports, per-instance leakage.

`python -m benchmarks.privacy` prints a table. Everything but the leakage runs on one thread; imports in fresh processes.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.limits import limit_row, print_limits

REPEATS = 3
LIMITS = {  # seconds, or the ratio that the name says
    "50-point curve, three accountants": 1.5,
    "the same from the cache": 0.05,
    "calibration of two phases": 3.0,
    "import workbench.privacy": 0.4,
    "everything imported, over dp_accounting": 1.3,
    "leakage of 1000 records, 2 threads": 30.0,
}


def rows() -> list[dict[str, Any]]:
    """One row a benchmark, as `limit_row` makes them; printed too."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        first, cached = curves()
        seconds = {
            "50-point curve, three accountants": first,
            "the same from the cache": cached,
            "calibration of two phases": seconds_of_repeats(calibration),
            "import workbench.privacy": [light_import() for _ in range(REPEATS)],
            "everything imported, over dp_accounting": [full_import() for _ in range(REPEATS)],
        }
    seconds["leakage of 1000 records, 2 threads"] = [leakage()]
    result = [limit_row("privacy core", name, values, LIMITS[name]) for name, values in seconds.items()]
    print_limits("privacy core", result)
    return result


def seconds_of_repeats(run: Callable[[], object]) -> list[float]:
    """Seconds of each of `REPEATS` runs."""
    return [seconds(run) for _ in range(REPEATS)]


def seconds(run: Callable[[], object]) -> float:
    """Wall seconds of one run."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def curves() -> tuple[list[float], list[float]]:
    """Seconds of a curve of epsilon against the noise multiplier, computed and from the cache; a steps setting each repeat."""
    import numpy as np

    from workbench.privacy.accounting.curves import poisson_gaussian_curve

    sigmas = list(np.geomspace(0.6, 10, 50))
    poisson_gaussian_curve(sigmas[:1], 0.01, 10, 1e-5)  # imports
    first, cached = [], []
    for steps in (10_000, 10_001, 10_002):
        first.append(seconds(lambda steps=steps: poisson_gaussian_curve(sigmas, 0.01, steps, 1e-5)))
        cached.append(seconds(lambda steps=steps: poisson_gaussian_curve(sigmas, 0.01, steps, 1e-5)))
    return first, cached


def calibration() -> None:
    """The noise multiplier of dp-promise's two phases at MNIST's size, for epsilon 10."""
    from dp_accounting import dp_event

    from workbench.privacy import Stage, calibrate_real
    from workbench.privacy.accounting.events import FixedBatchGaussianDpEvent

    one = Stage("one", FixedBatchGaussianDpEvent(60_000, 32, 1 / 0.929), "per_step", 5625, relations=("REPLACE_ONE", "REPLACE_SPECIAL"))

    def stages(noise_multiplier: float) -> list[Stage]:
        event = dp_event.PoissonSampledDpEvent(1 / 15, dp_event.GaussianDpEvent(noise_multiplier))
        return [one, Stage("two", event, "per_step", 750)]

    calibrate_real(stages, 10.0, 1e-5)


def light_import() -> float:
    """Seconds that `import workbench.privacy` takes in a fresh process."""
    return printed_number("import time; t = time.perf_counter(); import workbench.privacy; print(time.perf_counter() - t)")


def full_import() -> float:
    """Seconds of loading every public name of the privacy core, dp_accounting included, over those of dp_accounting alone."""
    return printed_number(
        "import time; a = time.perf_counter(); import dp_accounting; b = time.perf_counter(); import workbench.privacy as p; "
        "[getattr(p, name) for name in p.__all__]; print((time.perf_counter() - a) / (b - a))"
    )


def printed_number(code: str) -> float:
    """The number that a fresh interpreter prints."""
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def leakage() -> float:
    """Seconds of per-instance leakage: 1 000 records, 10 columns, 5 categories, T = 100, 200 draws a step."""
    import numpy as np

    from workbench.privacy.not_dp import per_instance

    records = (np.random.default_rng(0).random((1000, 10)) ** 2 * 5).astype(np.int64)
    alphas_cumprod = np.concatenate([[1.0], np.cumprod(1.0 - np.linspace(1e-3, 0.2, 100))])  # DDPM's linear schedule in 100 steps
    return seconds(lambda: per_instance.monte_carlo_leakage(records, np.full(10, 5), alphas_cumprod, num_draws=200))


if __name__ == "__main__":
    rows()
