"""Imported samples that are forgotten: they go with all that was made of them."""

import shutil

from workbench.jobs.lifecycle import Jobs
from workbench.runs.samples.imported import read_import
from workbench.runs.verdicts import Verdicts
from workbench.workspace import Workspace


def forget_import(workspace: Workspace, import_id: str) -> None:
    """Remove what was imported, with its measures, neighbours, verdicts and jobs; refused while one is at work."""
    folder = read_import(workspace, import_id).folder
    with Jobs(workspace).forgetting(import_id):
        shutil.rmtree(folder)
    Verdicts(workspace.verdicts).forget(import_id)
