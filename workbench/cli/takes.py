"""Which runs an attack takes, said before it begins and with what to do instead."""

from workbench.errors import WorkbenchError
from workbench.methods import METHODS
from workbench.methods.protocols import Denoising
from workbench.runs.scripts import command_line
from workbench.runs.store import RunStore
from workbench.workspace import Workspace

CANARIES = 200


def check_canaries(run_id: str) -> None:
    """A run with canaries; else the command that trains one by the same plan."""
    run = RunStore(Workspace.default()).get(run_id)
    if run.audit is None:
        raise WorkbenchError(
            f"Expected a run that was trained with canaries, got {run.id}. Do not release the audited run; train another by the "
            f"same plan, `{with_canaries(command_line(run.plan.request))}`. It spends the bound once more."
        )


def with_canaries(command: str) -> str:
    """A command that trains, as one that trains an audited run; it starts beside an equal one, and waits for its end."""
    return f"{command} --audit-canaries {CANARIES} --yes --wait"


def check_denoiser(run_id: str) -> None:
    """A run whose model tells what it predicts; else the methods that have one, and the attacks that take any."""
    run = RunStore(Workspace.default()).get(run_id)
    if not isinstance(run.plan.build(), Denoising):
        able = ", ".join(name for name, kind in METHODS.items() if hasattr(kind, "denoiser"))
        raise WorkbenchError(
            f"Expected a run of a method that tells what its model predicts ({able}), got {run.method}. `workbench copies` and "
            "`workbench audit` take any."
        )
