"""What people have said of a run for its dossier: kept in the run's folder, and never filled in by the workbench."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.errors import DamagedFileError, WorkbenchError
from workbench.files import check_writable, write_text_atomically
from workbench.runs.dossier.questions import QUESTIONS, checked_answer
from workbench.runs.folder import RunFolder
from workbench.runs.store import RunStore
from workbench.serialization import dumps
from workbench.workspace import Workspace


class Statements(BaseModel):
    """Answers by question; a question without one is open."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    answers: dict[str, str] = {}

    @property
    def open(self) -> tuple[str, ...]:
        """The questions without an answer, in their order."""
        return tuple(key for key in QUESTIONS if not self.answers.get(key))

    def of(self, key: str) -> str:
        """The answer to a question; empty where there is none."""
        return self.answers.get(key, "")


def kept_statements(workspace: Workspace, run_id: str) -> Statements:
    """What has been said of a run; nothing where nobody has said anything yet."""
    path = RunFolder(workspace, run_id).statements
    try:
        return Statements.model_validate_json(path.read_text(encoding="utf-8")) if path.exists() else Statements()
    except (ValidationError, ValueError):
        raise DamagedFileError(f"Expected answers for a dossier in {path}, got a damaged file. Move it away and answer again.") from None


def state(workspace: Workspace, run_id: str, answers: Mapping[str, Any]) -> Statements:
    """Keep these answers beside those that there are; an empty one takes an earlier one back. All are checked before one is kept."""
    RunStore(workspace).get(run_id)
    if wrong := [key for key, text in answers.items() if not isinstance(text, str)]:
        raise WorkbenchError(f"Expected a text as the answer to {wrong[0]!r}.")
    given = {key: checked_answer(key, text) for key, text in answers.items()}
    whole = {**kept_statements(workspace, run_id).answers, **given}
    statements = Statements(answers={key: whole[key] for key in QUESTIONS if whole.get(key)})
    check_writable(workspace.home)
    write_text_atomically(RunFolder(workspace, run_id).statements, dumps(statements, indent=2))
    return statements
