"""Sets of samples: a run's, each by a request of its own, and those made elsewhere; measured, searched and judged alike."""

from workbench.errors import WorkbenchError
from workbench.runs.run import check_run_id
from workbench.runs.samples import drawn, imported
from workbench.runs.samples.request import DEFAULT, SamplesRequest
from workbench.runs.samples.sets import SampleSet
from workbench.workspace import Workspace

__all__ = ["DEFAULT", "SampleSet", "SamplesRequest", "sample_set", "sample_sets"]


def sample_set(workspace: Workspace, owner: str, samples: str = DEFAULT) -> SampleSet:
    """The set `samples` of a run, or what was imported under the id `owner`, which is one set."""
    if not imported.is_import(workspace, check_run_id(owner)):
        return drawn.set_of(workspace, owner, samples)
    if samples != DEFAULT:
        raise WorkbenchError(f"Expected no set of samples beside {owner}, which is one itself, got {samples!r}. Leave it out.")
    return imported.read_import(workspace, owner)


def sample_sets(workspace: Workspace, owner: str) -> list[SampleSet]:
    """The sets that there are of a run, its default one first, or the one that was imported."""
    if imported.is_import(workspace, check_run_id(owner)):
        return [imported.read_import(workspace, owner)]
    return list(drawn.sets_of(workspace, owner))
