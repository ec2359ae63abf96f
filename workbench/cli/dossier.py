"""The command that writes a run's dossier: what a data protection officer signs."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.options import Json, RunId, check_target, text_of
from workbench.cli.output import line_width, print_fields, print_json, print_table, short
from workbench.errors import WorkbenchError
from workbench.escaping import terminal
from workbench.files import write_text_atomically
from workbench.workspace import Workspace

app = typer.Typer()


@app.command()
def dossier(
    run_id: RunId,
    out: Annotated[Path | None, typer.Option("--out", help="The .html to write.")] = None,
    room: Annotated[
        bool, typer.Option("--private", help="The private version, not to be shared: with verdicts, attacks and training records.")
    ] = False,
    export: Annotated[Path | None, typer.Option("--export", help="Also write the .zip that `verify` checks it against.")] = None,
    registry: Annotated[
        Path | None, typer.Option("--registry", help="Also write an entry for the OpenDP deployments registry to this .yaml.")
    ] = None,
    state: Annotated[
        list[str] | None, typer.Option("--state", metavar="KEY=TEXT", help="Answer a question; no text takes an answer back.")
    ] = None,
    answers: Annotated[Path | None, typer.Option("--answers", metavar="FILE", help="Answers by question as a JSON object.")] = None,
    questions: Annotated[bool, typer.Option("--questions", help="List what only people know, and what they have said.")] = False,
    as_json: Json = False,
) -> None:
    """Write a run's dossier for whoever has to sign: guarantee, algorithm, utility, trust, data, in the order of NIST SP 800-226."""
    from workbench.runs import dossier as made
    from workbench.runs.release import export_run

    for path, suffixes in ((out, (".html",)), (export, (".zip",)), (registry, (".yaml", ".yml", ".json"))):
        check_target(path, *suffixes)
    workspace = Workspace.default()
    if given := {**_from_file(answers), **_from_options(state or [])}:
        made.state(workspace, run_id, given)
    if questions:
        _show_questions(made.kept_statements(workspace, run_id).answers, as_json)
        return
    page = made.dossier_of(workspace, run_id, "room" if room else "outside")
    if out is not None:
        write_text_atomically(out, made.render(page))
    if export is not None:
        export_run(workspace, run_id, export, not_private=True)
    if registry is not None:
        write_text_atomically(registry, made.registry_entry(page).text)
    written = [str(path) for path in (out, export, registry) if path is not None]
    missing = [key for key in made.QUESTIONS if not page.answers.get(key)]
    if as_json:
        print_json({"run": run_id, "sha256": page.digest, "written": written, "open": missing, "dossier": page})
        return
    card = page.card
    print(f"Run {run_id}: {'may be released' if card.releasable else 'NOT PRIVATE'}. {terminal(card.release_reason)}")
    ceiling = "" if page.audit_ceiling is None else f" (its ceiling {short(page.audit_ceiling)})"
    audit = "not audited" if card.audit is None else f"{short(card.audit.epsilon)}{ceiling}"
    claim = "not evaluated" if card.claim.status == "not_evaluated" else card.claim.epsilon
    numbers = {"claim": claim, "bound": card.bound.epsilon, "audit": audit, "mu of GDP": page.profile.mu}
    print_fields(numbers | {"runs on these records": len(page.ledger), "SHA-256": page.digest, "written": written})
    if missing:
        print(f"{len(missing)} questions are open (--questions lists them): {', '.join(missing)}.")


def _show_questions(answers: Mapping[str, str], as_json: bool) -> None:
    from workbench.runs.dossier import QUESTIONS
    from workbench.runs.dossier.questions import PUBLISHED

    choices = {key: f" One of: {', '.join(question.choices)}." if question.choices else "" for key, question in QUESTIONS.items()}
    rows = [{"key": key, "asks": question.asks + choices[key], "answer": answers.get(key, "")} for key, question in QUESTIONS.items()]
    if as_json:
        print_json(rows)
        return
    print_table(rows, "No question.")
    print(textwrap.fill(PUBLISHED, line_width()))


def _from_options(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    if wrong := next((key for key, separator, _ in pairs if not separator), None):
        raise WorkbenchError(f"Expected --state KEY=TEXT, got {wrong!r}.")
    return {key: text for key, _, text in pairs}


def _from_file(path: Path | None) -> dict[str, Any]:
    import json

    if path is None:
        return {}
    try:
        answers = json.loads(text_of(path))
    except ValueError as error:
        raise WorkbenchError(f"Expected answers as a JSON object in {path}, got {error}.") from None
    if not isinstance(answers, dict):
        raise WorkbenchError(f"Expected answers as a JSON object in {path}, got {type(answers).__name__}.")
    return answers
