"""What may leave: a finished run as one file with a privacy card, and the check of such a file, which needs no data."""

from workbench.runs.release.export import export_run, left_out_here
from workbench.runs.release.verify import Verification, verify

__all__ = ["Verification", "export_run", "left_out_here", "verify"]
