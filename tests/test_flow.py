"""Imports follow the flow from records to the command line, those inside functions included; what only plans needs no torch."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import workbench

PACKAGE = Path(workbench.__file__).parent
FLOW = (  # a room may import those above it, and its own line
    "errors escaping files lazy locks marks measured published seeds serialization sqlite words workspace",
    "records",
    "datasets",
    "privacy diffusion",
    "networks",
    "training",
    "models",
    "methods",
    "request",
    "plan",
    "planning",
    "training_data",
    "claims",
    "evaluation",
    "experiment",
    "teaching",
    "jobs",
    "runs",
    "recipes",
    "sweeps",
    "tasks",
    "trackers",
    "ui",
    "pages",
    "server",
    "cli",
)
LEVEL = {room: level for level, rooms in enumerate(FLOW) for room in rooms.split()}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the package by dotted name; the package's own `__init__`, which names its public parts, is left out."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            yield name, path


def imported(path: Path) -> Iterator[str]:
    """What a module imports from the package, at its head, inside functions, by name or for types alone, without `workbench.`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: an import by dots"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and isinstance(node.args[0], ast.Constant):
            names = [str(node.args[0].value)]
        else:
            continue
        yield from (name.removeprefix("workbench.") for name in names if name.startswith("workbench."))


def room(name: str) -> str:
    """The part of the package that a module or a name of one belongs to."""
    return name.partition(".")[0]


def against_the_flow() -> Iterator[tuple[str, str]]:
    """Imports of a room that stands later, or beside it on the same line."""
    for name, path in modules():
        for other in imported(path):
            here, there = LEVEL[room(name)], LEVEL.get(room(other))
            assert there is not None, f"{name} imports {other}, which has no place in FLOW"
            if there > here or (there == here and here > 0 and room(name) != room(other)):
                yield name, other


def test_every_room_has_its_place() -> None:
    rooms = {room(name) for name, _ in modules()}
    assert rooms <= LEVEL.keys()


def test_no_import_runs_against_the_flow() -> None:
    assert set(against_the_flow()) == set()


def circles(imports: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Groups of modules that import one another, each by a chain of imports."""
    sorter = TopologicalSorter(imports)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = tuple(error.args[1])
        return [circle, *circles({name: others - set(circle) for name, others in imports.items() if name not in circle})]
    return []


def given_on(known: Mapping[str, Path]) -> dict[str, str]:
    """Names that a package's `__init__` takes from elsewhere, by what they are called in the package."""
    return {
        f"{name}.{alias.asname or alias.name}": f"{node.module}.{alias.name}".removeprefix("workbench.")
        for name, path in known.items()
        if path.name == "__init__.py"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def imports_between(known: Mapping[str, Path]) -> dict[str, set[str]]:
    """The other modules that each module's imports load: the one that is named, the one that a name given on is from, and packages.

    Whoever imports a module loads the `__init__` of every package that it lies in; those that both lie in are left out.
    """
    elsewhere = given_on(known)

    def home(name: str) -> str:
        while name and name not in known:
            name = name.rpartition(".")[0]
        return name

    def loaded(by: str, name: str) -> Iterator[str]:
        for place in (home(name), home(origin(name))):
            yield place
            yield from (above for above in packages(place) if above in known and not by.startswith(f"{above}."))

    def origin(name: str) -> str:
        while name not in known and name in elsewhere:
            name = elsewhere[name]
        return name

    return {name: {one for other in imported(path) for one in loaded(name, other)} - {"", name} for name, path in known.items()}


def packages(name: str) -> Iterator[str]:
    """The packages that a module lies in, the innermost first."""
    while name := name.rpartition(".")[0]:
        yield name


def test_no_modules_import_one_another_in_a_circle() -> None:
    assert circles(imports_between(dict(modules()))) == []


@pytest.mark.parametrize(
    "line", ["from workbench.shop import price", "from workbench.shop.names import NAME", "import workbench.shop.names"]
)
def test_an_import_loads_what_the_package_s_init_imports(tmp_path: Path, line: str) -> None:
    texts = {
        "shop/__init__.py": "from workbench.shop.prices import price",
        "shop/prices.py": "def price():\n    from workbench.till import take",
        "shop/names.py": "NAME = 1",
        "till.py": line,
    }
    known = {}
    for file, text in texts.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
        known[file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = tmp_path / file
    (circle,) = circles(imports_between(known))
    assert {"till", "shop.prices"} <= set(circle)
    (tmp_path / "till.py").write_text("")
    assert circles(imports_between(known)) == []


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [("a", "c", "b", "a")]


# Formulas, configurations, presets and stages are inert
INERT_ROOMS = ("records", "privacy", "claims", "request", "plan", "planning")
INERT_MODULES = ("config", "claim", "presets", "stages", "method")
PRV = "privacy.accounting.accountants.prv"  # a second implementation to hold ours against: opacus, and torch with it
REFUSING = """
import importlib, sys
class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "opacus"):
            raise ImportError(f"{name} was asked for")
sys.meta_path.insert(0, Refused())
for name in sys.argv[1:]:
    importlib.import_module(name)
from workbench import datasets
from workbench.claims import claims_table
from workbench.methods import METHODS
from workbench.planning import make_plan
images = [name for name, kind in METHODS.items() if "image" in kind.kinds]
made = [make_plan(name, datasets.facts("digits"), epsilon=None) for name in images]
print(len(claims_table()) > len(made) > 2)
"""


def is_inert(name: str) -> bool:
    return (room(name) in INERT_ROOMS and name != PRV) or name.rpartition(".")[2] in INERT_MODULES


def test_what_is_inert_mentions_no_torch() -> None:
    texts = {name: path.read_text(encoding="utf-8") for name, path in modules() if is_inert(name)}
    assert len(texts) > 40
    torch = [name for name, text in texts.items() for node in ast.walk(ast.parse(text)) if _asks_for_torch(node)]
    assert torch == []


def test_plans_claims_and_pages_are_made_where_there_is_no_torch() -> None:
    names = [f"workbench.{name}" for name, _ in modules() if is_inert(name) or room(name) in ("ui", "pages", "cli")]
    command = [sys.executable, "-c", REFUSING, *(name for name in names if not name.endswith("__main__"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True"], done.stderr


def _asks_for_torch(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] in ("torch", "opacus") for alias in node.names)
    return isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("torch", "opacus")
