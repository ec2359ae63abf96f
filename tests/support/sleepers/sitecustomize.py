"""On the path of a test's processes: workers that they start are `support.sleeper`, which import little and do nothing for a while."""

import sys

from workbench.jobs.launchers import local


def sleeper_command(job_id: str, attempt: int) -> list[str]:
    """In the place of a task's worker."""
    return [sys.executable, "-m", "support.sleeper", job_id, str(attempt)]


if __name__ == "sitecustomize":  # and not where a test takes the command from here
    local.worker_command = sleeper_command
