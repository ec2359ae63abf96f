"""`python -m benchmarks`: every benchmark, one table after another, into `benchmarks/results.json`."""

from benchmarks import neighbours, privacy, private_step

if __name__ == "__main__":
    private_step.main(others=lambda: [*privacy.rows(), *neighbours.rows()])
