"""The harness that holds mechanisms against events: a method's own `fit` is run, and what happened is compared with its stages."""

from support.mechanism import cases
from support.mechanism.benches import bench_of
from support.mechanism.checks import findings, is_found, violations
from support.mechanism.finding import Finding
from support.mechanism.recording import Bench

__all__ = ["Bench", "Finding", "bench_of", "cases", "findings", "is_found", "violations"]
