"""Where a row of the claims table stands in the code, and which tests hold it; names of tests are those of a checkout."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from workbench.methods import METHODS
from workbench.methods.base import Method

PACKAGE = Path(__file__).parents[1]
OF_ITS_FOLDER = "tests/methods/test_{}.py"  # the paper's vectors, its formula, the method's own distances
OF_SEVERAL = {
    "pearl": "embeddings", "dp_hp": "embeddings", "dp_kernel": "embeddings", "dp_ntk": "embeddings",
    "dp_cgan": "dp_gan", "dp_lora": "dp_ldm", "nonprivate": "dp_promise", "independent_marginals": "mst",
}  # fmt: skip
BOUND = "tests/methods/test_mechanism.py::test_what_happens_is_what_the_stages_state[{}]"  # what a fit draws, clips and adds
TABLE = "tests/claims/test_table.py"


class Place(NamedTuple):
    """A file of the package, the line in it, and the tests that hold what stands there: files, or files with a test of one name."""

    file: str
    line: int
    tests: tuple[str, ...]

    @property
    def words(self) -> str:
        """In a sentence."""
        return f"In the code: {self.file}, line {self.line}; held by {' and '.join(self.tests)}."


@cache
def place_of(name: str) -> Place:
    """The line that gives a row: the reading of a built method, the entry of a paper that is not built, or the method's own name."""
    for path in _files():
        lines = path.read_text(encoding="utf-8").splitlines()
        line_number = next((number for number, line in enumerate(lines, 1) if f'"{name}": ' in line), 0)
        if line_number:
            file = f"workbench/{path.relative_to(PACKAGE).as_posix()}"
            return Place(file, line_number, tests_of(path.parent.name) if "methods" in path.parts else (TABLE,))
    method = METHODS[name]
    file = f"{method.__module__.replace('.', '/')}.py"
    return Place(file, line_of_name(method), tests_of(Path(file).parent.name))


def tests_of(folder: str) -> tuple[str, ...]:
    """The tests of the method in a folder, and the one that holds what its fit does against the stages that its bound is computed from."""
    return OF_ITS_FOLDER.format(OF_SEVERAL.get(folder, folder)), BOUND.format(folder.replace("_", "-"))


def line_of_name(method: type[Method]) -> int:
    """The line of a class that gives its `name`, alone or among others, annotated or not; the class's first where its body has none."""
    lines, first = inspect.getsourcelines(method)
    body = next(node.body for node in ast.walk(ast.parse(dedent("".join(lines)))) if isinstance(node, ast.ClassDef))
    numbers = [
        value.lineno
        for statement in body
        if any(isinstance(node, ast.Name) and (node.id, type(node.ctx)) == ("name", ast.Store) for node in ast.walk(statement))
        for value in ast.walk(statement)
        if isinstance(value, ast.Constant) and value.value == method.name
    ]
    return first + min(numbers, default=1) - 1


def _files() -> Iterator[Path]:
    for part in ("phases", "method"):  # dp-promise has its claim beside what its phases release
        yield from sorted((PACKAGE / "methods").glob(f"*/{part}.py"))
    yield PACKAGE / "claims" / "unbuilt" / "__init__.py"
