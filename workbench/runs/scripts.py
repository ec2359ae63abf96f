"""One configuration as a command line, a Python script and a notebook: each makes the same request, and so the same plan."""

import json
import shlex
from typing import Any

from workbench.request import Request

TITLE = "One configuration of the DP diffusion workbench: the same request as its pages and its command line make."
STEPS = {
    "What is asked for. Every setting that affects the guarantee is here.": "request = Request.parse({text!r})",
    "The plan: what will be released, and at what epsilon. No record is needed for it.": (
        "plan = workbench.make_plan(request)\nprint(plan.bound.epsilon, plan.bound.delta, plan.bound.status)"
    ),
    "The run: a process of its own, charged to the ledger of the home that WORKBENCH_HOME names.": (
        "run = workbench.launch(workbench.Workspace.default(), plan)\nprint(run.id)"
    ),
}
IMPORTS = "import workbench\nfrom workbench.request import Request"


def command_line(request: Request, command: str = "train") -> str:
    """The command, as a shell takes it."""
    place = request.place
    named: dict[str, Any] = {
        "--dataset": place.text,
        **{f"--{name.replace('_', '-')}": text for name, text in place.texts.items()},
        "--split-seed": place.split_seed or None,
        "--preset": request.preset if request.preset != "default" else None,
        "--epsilon": request.epsilon,
        "--delta": request.delta,
        "--target": request.target if request.target != "bound" else None,
    }
    words = [word for name, value in named.items() if value is not None for word in (name, str(value))]
    settings = [word for name, value in request.settings.items() for word in ("--set", f"{name}={_as_option(value)}")]
    return shlex.join(["workbench", command, request.method, *words, *settings])


def script(request: Request) -> str:
    """A Python script that plans and launches."""
    steps = [f"# {words}\n{code.format(text=request.text)}" for words, code in STEPS.items()]
    return "\n\n".join([f'"""{TITLE}"""\n\n{IMPORTS}', *steps]) + "\n"


def notebook(request: Request) -> str:
    """A notebook of the same steps, as JSON of nbformat 4."""
    cells = [_cell("markdown", f"# {request.method} on {request.place.text}\n\n{TITLE}", 0), _cell("code", IMPORTS, 1)]
    for words, code in STEPS.items():
        cells += [_cell("markdown", words, len(cells)), _cell("code", code.format(text=request.text), len(cells) + 1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1) + "\n"


FORMS = {"command": lambda request: command_line(request) + "\n", "script": script, "notebook": notebook}


def _cell(kind: str, source: str, number: int) -> dict[str, Any]:
    own: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source.splitlines(keepends=True), **own}


def _as_option(value: Any) -> str:
    """A value as --set reads it again: JSON, or text that is no JSON."""
    if not isinstance(value, str):
        return json.dumps(value)
    try:
        json.loads(value)
    except ValueError:
        return value
    return json.dumps(value)
