"""`python -m benchmarks`: every benchmark, one table after another, into `benchmarks/results.json`; `--only` renews some of them.

What is left out keeps its rows there. Further options are those of `benchmarks.private_step`.
"""

import argparse

from benchmarks import measures, neighbours, privacy, private_step, registry
from benchmarks.results import renew

OTHERS = {"privacy": privacy.rows, "neighbours": neighbours.rows, "measures": measures.rows, "registry": registry.rows}
STEP = "private-step"

if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m benchmarks", description="Measure speed and memory.", parents=[private_step.arguments()])
    parser.add_argument("--only", nargs="+", choices=[*OTHERS, STEP], default=[*OTHERS, STEP], help="all by default")
    options = parser.parse_args()
    for name in (name for name in OTHERS if name in options.only):
        renew(options.out, limits=OTHERS[name]())
    if STEP in options.only:
        private_step.main(options)
