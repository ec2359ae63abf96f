"""Where a row of the claims table stands in the code, and which tests hold it; names of tests are those of a checkout."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1]
CLAIMS = "tests/methods/test_claims.py"  # each formula, written out once more
BOUNDS = "tests/methods/test_mechanism.py"  # what a fit draws, clips and adds, against its stages
TABLE = "tests/claims/test_table.py"


class Place(NamedTuple):
    """A file of the package, the line in it, and the tests that hold what stands there."""

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
    marks = (f'"{name}": ',), (f'name: ClassVar[str] = "{name}"', f'name = "{name}"')
    for texts in marks:
        for path in _files():
            lines = path.read_text(encoding="utf-8").splitlines()
            line_number = next((number for number, line in enumerate(lines, 1) if any(text in line for text in texts)), 0)
            if line_number:
                built = "methods" in path.parts
                claims = (CLAIMS,) if built and texts is marks[0] else ()
                file = f"workbench/{path.relative_to(PACKAGE).as_posix()}"
                return Place(file, line_number, (*claims, BOUNDS) if built else (TABLE,))
    raise KeyError(name)


def _files() -> Iterator[Path]:
    for part in ("phases", "method"):  # dp-promise has its claim beside what its phases release
        yield from sorted((PACKAGE / "methods").glob(f"*/{part}.py"))
    yield PACKAGE / "claims" / "unbuilt" / "__init__.py"
