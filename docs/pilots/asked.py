"""What a pilot is asked for on its command line: a dataset, a bound, a seed."""

import argparse
import math
from dataclasses import dataclass

from workbench.datasets import Dataset
from workbench.experiment import load
from workbench.privacy.accounting.gaussian import gdp_mu


@dataclass(frozen=True)
class Asked:
    """A dataset with the Gaussian bound that its releases may have together, `mu` at delta 1/(n ln n), and the seed of the draws."""

    dataset: Dataset
    bound: float
    delta: float
    mu: float
    seed: int

    @classmethod
    def of_command_line(cls, about: str | None, bound: float) -> "Asked":
        """The options given, `bound` by default; `about` is what `--help` says."""
        parser = argparse.ArgumentParser(description=about)
        parser.add_argument("--dataset", default="fashion-mnist-validation")
        parser.add_argument("--bound", type=float, default=bound)
        parser.add_argument("--seed", type=int, default=0)
        given = parser.parse_args()
        dataset = load(given.dataset)
        n = dataset.facts.num_records
        delta = 1 / (n * math.log(n))
        return cls(dataset, given.bound, delta, gdp_mu(given.bound, delta), given.seed)

    def __str__(self) -> str:
        return f"{self.dataset.facts.name}, bound {self.bound:g}, delta {self.delta:.3g}, seed {self.seed}"
