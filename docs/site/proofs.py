"""The proofs, one a page: what is proved, the constants, the lines of code that rest on it and the tests that hold it, around the text."""

import ast
import re

from docs.site.citations import cited
from docs.site.links import ROOT
from docs.site.theorems import THEOREMS


def proof_pages(text: str) -> dict[str, str]:
    """The pages by their names: one a section of the document, and the page that lists them."""
    head, *sections = re.split(r"^## (?=\d+\. )", text, flags=re.MULTILINE)
    pages = {"index": f"{head.rstrip()}\n\n```{{toctree}}\n:maxdepth: 1\n:glob:\n\n[0-9]*\n```\n"}
    for section in sections:
        title, body = section.split("\n", 1)
        number = int(title.partition(".")[0])
        pages[f"{number:02d}"] = _page(number, title, body.strip())
    return pages


def _page(number: int, title: str, body: str) -> str:
    theorem = THEOREMS[number]
    constants = ["**Constants**", "", *(f"- {name}: {value}" for name, value in theorem.constants.items()), ""] if theorem.constants else []
    code, tests = ([f"- {place(path, name)}" for path, names in named.items() for name in names] for named in (theorem.code, theorem.tests))
    stated = [
        f"::::{{prf:theorem}} {theorem.title}",
        f":label: theorem-{number}",
        "",
        theorem.statement,
        "::::",
        "",
        *cited(theorem.papers),
    ]
    proof = ["::::{prf:proof}", body, "::::", ""]
    held = ["**Code**", "", *code, "", "**Tests that hold it**", "", *tests, ""]
    return "\n".join([f"# {title}", "", *stated, *constants, *held, "## Proof", "", *proof])


def place(path: str, name: str) -> str:
    """`path:line` of the function or class that is defined there under `name`; refuses what is not there."""
    file = ROOT / path
    if not file.exists():
        raise FileNotFoundError(f"Expected {path}, which a proof names.")
    kinds = (ast.FunctionDef, ast.ClassDef)
    lines = [node.lineno for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, kinds) and node.name == name]
    if not lines:
        raise LookupError(f"Expected {name} in {path}, which a proof names.")
    return f"`{path}:{lines[0]}` (`{name}`)"
