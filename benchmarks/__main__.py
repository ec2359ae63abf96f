"""`python -m benchmarks`: every benchmark, one table after another, into `benchmarks/results.json`."""

from benchmarks.private_step import main

if __name__ == "__main__":
    main()
