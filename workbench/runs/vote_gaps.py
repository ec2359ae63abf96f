"""What PATE's data-dependent analysis says of a finished run's votes: made once, kept in the run's folder, for whoever holds the records.

It enters no export, no card, no dossier, no ledger and no list of runs: one teacher near a tie moves it.
"""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from workbench.errors import DamagedFileError, WorkbenchError
from workbench.files import write_text_atomically
from workbench.methods import METHODS
from workbench.methods.protocols import DataDependentEpsilon
from workbench.plan import Plan
from workbench.privacy.not_dp.vote_gaps import VoteGapEpsilon
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.threads import few_threads
from workbench.runs.trained import load_state, trained_run
from workbench.serialization import dumps
from workbench.workspace import Workspace

PRIVATE = (
    "Private: this epsilon depends on the records. It is not releasable, and it is no proved bound. Do "
    "not share it, and do not stop or choose runs by it: what follows from such a choice is outside any bound."
)
OF_WHAT = (
    "It is what PATE's analysis gives for the noisy votes alone, added up along the rounds as they went. Counts of classes, where the plan "
    "releases them, come on top; a round that was taken twice counts once. What the same formulas charge at worst looks at no vote; the "
    "proved bound is composed more closely and may be below that."
)
NONE = "The analysis is of the choice with the most noisy votes; sums of votes that are released themselves, as DataLens', have none."
READ = TypeAdapter(VoteGapEpsilon)


def tells_votes(plan: Plan) -> bool:
    """Whether the plan's method says what its teachers' true votes give."""
    return isinstance(plan.build(), DataDependentEpsilon)


def offering() -> list[str]:
    """The names of the methods that do."""
    return sorted(name for name, method in METHODS.items() if issubclass(method, DataDependentEpsilon))


def votes_run(workspace: Workspace, run_id: str) -> VoteGapEpsilon:
    """The epsilon by the true votes of a finished run at its plan's delta; private, kept in the run's folder."""
    run, method = checked(workspace, run_id)
    if (kept := kept_votes(workspace, run_id)) is not None:
        return kept
    with few_threads():
        value = method.vote_gap_epsilon(load_state(workspace, run), run.delta)
    write_text_atomically(_file(workspace, run_id), dumps(value, indent=2))
    return value


def kept_votes(workspace: Workspace, run_id: str) -> VoteGapEpsilon | None:
    """What is kept of `votes_run`, or None."""
    path = _file(workspace, run_id)
    try:
        return READ.validate_json(path.read_text()) if path.exists() else None
    except ValidationError:
        raise DamagedFileError(f"Expected an epsilon by votes in {path}, got a damaged file. Move it away: it is made anew.") from None


def checked(workspace: Workspace, run_id: str) -> tuple[Run, DataDependentEpsilon]:
    """The run and its method; refuses one that is not finished, whose method has no such analysis, or that kept no votes."""
    run = trained_run(workspace, run_id)
    method = run.plan.build()
    if not isinstance(method, DataDependentEpsilon):
        names = ", ".join(offering())
        raise WorkbenchError(f"Expected a run of a method that keeps what its teachers voted ({names}), got one of {run.method}. {NONE}")
    if not RunFolder(workspace, run.id).private.exists():
        raise WorkbenchError(f"Expected a run that has kept its teachers' votes, got {run_id}, which has none. Train it anew.")
    return run, method


def _file(workspace: Workspace, run_id: str) -> Path:
    return RunFolder(workspace, run_id).path / "votes.json"
