"""The slow tier: full-size tests that are run once per state of the code they depend on, and keep a record of what they found.

A slow test says what it depends on: `@pytest.mark.slow(depends=["workbench/methods/dp_merf/*", "workbench/training/**"])`,
patterns from the root of the checkout, of which one that begins with `!` leaves files out; without them it depends on the package
that its folder mirrors. `{method}` in a pattern is the folder of the method that the test is of, and in turn those of the methods
which that one imports from. When it passes, a record goes to docs/slow-tests.json (and, to be read, docs/slow-tests.md). As long as
nothing it depends on changes, the record stands and the test is skipped, so an interrupted tier goes on where it stopped; `--rerun`
runs it all the same.

A test of long runs says which: `@pytest.mark.slow(depends=[...], trains=("digits", "dp-merf"))`, a recipe and a method. Its record
stands too while the plans of these lines are equal and the method's seeded short run gives the same weights, samples and measures to
the bit (`support/long_runs.py`): so a rename does not force an overnight rerun.
"""

import ast
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

DATA = os.environ.get("WORKBENCH_DATA")  # before the fixture of every test hides it
RECORDS, DOCUMENT = "docs/slow-tests.json", "docs/slow-tests.md"
METHODS = "workbench/methods"
INTRODUCTION = """# The slow tier

Made by `make test-slow`; do not edit. Each entry is a test that passed at full size, with what it measured. It stands until
something that the test depends on changes; comments, docstrings and formatting do not count.
"""
# What every run and its evaluation goes through, what a diffusion model is built of, and the private step: for `depends`.
FLOW = (
    "workbench/experiment.py",
    "workbench/plan.py",
    "workbench/planning.py",
    "workbench/request.py",
    "workbench/training_data.py",
    "workbench/datasets/**",
    "workbench/records/**",
    "workbench/methods/base.py",
    "workbench/models/sample_request.py",
    "workbench/networks/__init__.py",
    "workbench/networks/classifiers.py",
    "workbench/networks/config.py",
    "workbench/networks/initialization.py",
    "workbench/privacy/accounting/accountants/**",
    "workbench/privacy/accounting/bounds.py",
    "workbench/privacy/accounting/calibration.py",
    "workbench/privacy/accounting/planned_stage.py",
    "workbench/privacy/accounting/sampler.py",
    "workbench/training/randomness.py",
    "workbench/training/streams.py",
    "workbench/training/floored_normals.py",
    "workbench/training/exponential.py",
    "workbench/training/entries.py",
    "workbench/training/marginals.py",
    "workbench/training/grid.py",
    "workbench/training/state.py",
    "workbench/evaluation/downstream.py",
    "workbench/evaluation/distances.py",
    "workbench/evaluation/features.py",
    "workbench/evaluation/learners.py",
    "workbench/evaluation/metrics.py",
    "workbench/runs/fitting.py",
    "workbench/runs/paid.py",
    "workbench/recipes/lines.py",
    "workbench/recipes/making.py",
    "workbench/recipes/reproducing.py",
    "workbench/runs/finished.py",
    "workbench/runs/samples/drawing.py",
    "workbench/runs/samples/drawn.py",
)
DDPM = ("workbench/models/*", "workbench/networks/unet.py", "workbench/networks/ema.py", "workbench/diffusion/**")
PRIVATE_STEP = (
    "workbench/training/private_optimizer.py",
    "workbench/training/private_step.py",
    "workbench/training/private_steps.py",
    "workbench/training/private_training.py",
    "workbench/training/dp_sgd.py",
    "workbench/training/batch_clipping.py",
    "workbench/training/kept_gradient.py",
    "workbench/training/norms.py",
    "workbench/training/distributed.py",
    "workbench/training/microbatch.py",
    "workbench/training/poisson.py",
    "workbench/training/mixing.py",
    "workbench/training/row_losses.py",
    "workbench/training/per_record/**",
    "workbench/networks/row_by_row.py",
)
FIGURES = pytest.StashKey[dict[str, Any]]()
OUTCOMES = pytest.StashKey[dict[str, int]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rerun` runs slow tests although their records stand."""
    parser.addoption("--rerun", action="store_true", help="Run slow tests although nothing they depend on has changed.")


def pytest_configure(config: pytest.Config) -> None:
    """Start counting outcomes."""
    config.stash[OUTCOMES] = {"passed": 0, "stands": 0, "skipped": 0, "failed": 0}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse a session in which a slow test depends on files that are not there, also where the slow tier is not run."""
    slow = [item for item in items if item.get_closest_marker("slow") is not None]
    for pattern in {pattern for item in slow for pattern in patterns_of(item)}:
        matching(config.rootpath, pattern.removeprefix("!"))


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What the test measured, by name: numbers, texts, or lists of rows; kept in its record."""
    return request.node.stash.setdefault(FIGURES, {})


@pytest.fixture
def slow_home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workbench home that outlives the session, so that finished runs need not be trained again, and the user's datasets.

    `WORKBENCH_SLOW_HOME`, or `.slow-home` in the checkout with a folder per digest of what the test depends on: a run of other
    code is never taken for a run of this code.
    """
    given = os.environ.get("WORKBENCH_SLOW_HOME")
    home = Path(given).resolve() if given else request.config.rootpath / ".slow-home" / digest_of(request.node)[:12]
    monkeypatch.setenv("WORKBENCH_HOME", str(home))
    if DATA:
        monkeypatch.setenv("WORKBENCH_DATA", str(Path(DATA).resolve()))
    return home


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a slow test whose record stands."""
    if item.get_closest_marker("slow") is None or item.config.getoption("rerun"):
        return
    record = read_records(item.config.rootpath).get(item.nodeid)
    if record is not None and (why := stands(item, record)):
        pytest.skip(f"stands: passed at {record['commit']} in {record['seconds']:g} s, and {why}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Count outcomes of slow tests, and write the record of one that passed."""
    report: Any = yield
    if item.get_closest_marker("slow") is not None and (report.when == "call" or not report.passed):
        outcomes = item.config.stash[OUTCOMES]
        outcomes["stands" if report.skipped and "stands: passed" in str(report.longrepr) else report.outcome] += 1
        if report.passed:
            write_record(item, report.duration)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Bring the counts of the document up to date, if a slow test was run."""
    outcomes = session.config.stash[OUTCOMES]
    if any(outcomes.values()):
        write_all(session.config.rootpath, read_records(session.config.rootpath), outcomes)


def stands(item: pytest.Item, record: Mapping[str, Any]) -> str:
    """Why the record of a test stands, empty where it does not."""
    if record["digest"] == digest_of(item):
        return "nothing it depends on has changed"
    if (lines := trains(item)) and "long_runs" in record:
        from support import long_runs

        if long_runs.are_the_same(record["long_runs"], *lines):
            return "its plans and the short run of its method are the same"
    return ""


def trains(item: pytest.Item) -> tuple[str, str] | None:
    """The recipe and the method whose lines a test trains, or None."""
    marker = item.get_closest_marker("slow")
    return marker.kwargs.get("trains") if marker is not None else None


def write_record(item: pytest.Item, seconds: float) -> None:
    """Keep what a test that passed has found."""
    root = item.config.rootpath
    record = {
        "commit": commit(root),
        "machine": machine(),
        "seconds": round(seconds, 1),
        "figures": item.stash.get(FIGURES, {}),
        "digest": digest_of(item),
    }
    if lines := trains(item):
        from support import long_runs

        record["long_runs"] = long_runs.described(*lines)
    write_all(root, read_records(root) | {item.nodeid: record}, item.config.stash[OUTCOMES])


def write_all(root: Path, records: Mapping[str, Any], counts: Mapping[str, int]) -> None:
    """Write both files, without the records of tests that are gone."""
    kept = {test: records[test] for test in sorted(records) if is_there(root, test)}
    (root / RECORDS).parent.mkdir(exist_ok=True)
    replace(root / RECORDS, json.dumps({"counts": dict(counts), "records": kept}, indent=2, allow_nan=False) + "\n")
    replace(root / DOCUMENT, rendered(kept, counts))


def is_there(root: Path, test: str) -> bool:
    """Whether the file of a test, by its id, has a function of its name."""
    file, *_, name = test.partition("[")[0].split("::")
    path = root / file
    return path.exists() and any(isinstance(node, ast.FunctionDef) and node.name == name for node in ast.walk(ast.parse(path.read_text())))


def replace(path: Path, text: str) -> None:
    """Write `text` so that an interruption leaves the old file or the new one."""
    temporary = path.with_name(path.name + ".partial")
    temporary.write_text(text)
    os.replace(temporary, path)


def read_records(root: Path) -> dict[str, Any]:
    """The records so far, by test."""
    path = root / RECORDS
    return json.loads(path.read_text())["records"] if path.exists() else {}


# What a test depends on


def digest_of(item: pytest.Item) -> str:
    """SHA-256 (hex) of everything that a slow test depends on, its own file included."""
    return digest(item.config.rootpath, patterns_of(item))


def patterns_of(item: pytest.Item) -> list[str]:
    """What a slow test depends on, its own file first, from the root of the checkout."""
    root, test, marker = item.config.rootpath, item.path, item.get_closest_marker("slow")
    stated = marker.kwargs.get("depends") if marker is not None else None
    named = [pattern for stated_pattern in stated or mirrored(root, test) for pattern in of_method(root, stated_pattern, item)]
    return [str(test.relative_to(root)), *named]


def of_method(root: Path, pattern: str, item: pytest.Item) -> list[str]:
    """A pattern for the folder of the method that a test is of, and for each that it imports from; one without `{method}` as it is."""
    if "{method}" not in pattern:
        return [pattern]
    assert isinstance(item, pytest.Function)
    folders, methods = [str(item.callspec.params["method"]).replace("-", "_")], root / METHODS
    for folder in folders:  # grows
        imported = {name for path in (methods / folder).rglob("*.py") for name in methods_imported(path) if (methods / name).is_dir()}
        folders += sorted(imported.difference(folders))
    return [pattern.format(method=folder) for folder in folders]


def methods_imported(path: Path) -> set[str]:
    """Names in `workbench.methods` that a module imports or imports from."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom) and node.module]
    names = [f"{node.module}.{alias.name}".split(".") for node in nodes for alias in node.names]
    return {name[2] for name in names if name[:2] == METHODS.split("/")}


def mirrored(root: Path, test: Path) -> list[str]:
    """The part of the package that a test's folder mirrors, or the whole package."""
    part = Path("workbench") / test.parent.relative_to(root / "tests")
    return [f"{part if (root / part).is_dir() else 'workbench'}/**"]


def digest(root: Path, patterns: Sequence[str]) -> str:
    """SHA-256 (hex) of the files that match any of `patterns`, without those that a pattern after `!` leaves out."""
    total = hashlib.sha256()
    left_out = {path for pattern in patterns if pattern.startswith("!") for path in matching(root, pattern[1:])}
    counted = {path for pattern in patterns if not pattern.startswith("!") for path in matching(root, pattern)}
    for path in sorted(counted - left_out):
        total.update(f"{path.relative_to(root)}\n".encode())
        total.update(hashlib.sha256(meaning(path)).digest())
    return total.hexdigest()


def matching(root: Path, pattern: str) -> list[Path]:
    """The files that match a pattern; none is an error, as a file that was moved would change without anybody's notice."""
    paths = [path for path in root.glob(f"{pattern}/*" if pattern.endswith("**") else pattern) if is_source(path)]
    if not paths:
        raise pytest.UsageError(f"Expected a slow test to depend on files that exist, got {pattern!r}. Mend its `depends`.")
    return paths


def is_source(path: Path) -> bool:
    """Whether `path` is a file that somebody wrote."""
    return path.is_file() and "__pycache__" not in path.parts


def meaning(path: Path) -> bytes:
    """A Python file's statements without comments, docstrings and formatting, equal for all Python versions; any other file's bytes."""
    if path.suffix != ".py":
        return path.read_bytes()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return repr(nested(tree)).encode()


def nested(node: object) -> object:
    """A syntax tree as tuples, without fields that are empty: a later Python adds some."""
    if isinstance(node, ast.AST):
        fields = ((name, nested(value)) for name, value in ast.iter_fields(node) if value not in ([], None))
        return type(node).__name__, *sorted(fields)
    return tuple(map(nested, node)) if isinstance(node, list) else repr(node)


# Where it ran


def commit(root: Path) -> str:
    """The short commit of the checkout, and whether files differ from it."""
    git = ["git", "-C", str(root)]
    name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    changes = subprocess.run([*git, "status", "--porcelain", "--", "workbench", "tests"], capture_output=True, check=False)
    return f"{name or 'no commit'}{' with changes' if changes.stdout else ''}"


def machine() -> dict[str, Any]:
    """Processor, cores, memory (GiB), and the versions that figures depend on."""
    import psutil

    from workbench.training.checkpoints import processor

    torch = sys.modules.get("torch")  # a GPU that no test could have used is of no interest
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "gpu": torch.cuda.get_device_name() if torch is not None and torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "torch": version("torch"),
    }


def trained_by(results: Sequence[Mapping[str, Any]]) -> str:
    """Whether the runs of a recipe's results were trained by today's source, or were taken over from an earlier state of it."""
    from workbench.training.checkpoints import source_digest

    digests = {environment["workbench"] for result in results for environment in result["environments"]}
    unknown = any(not result["environments"] for result in results)
    return "this source" if digests == {source_digest()} and not unknown else "an earlier state of the source, at an equal plan"


# The document


def rendered(records: Mapping[str, Any], counts: Mapping[str, int]) -> str:
    """The records as Markdown: an overview, then a section with the figures of each test."""
    overview = [
        {"test": test, "commit": record["commit"], "machine": described(record["machine"]), "seconds": record["seconds"]}
        for test, record in records.items()
    ]
    last = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    parts = [INTRODUCTION, f"Last session: {last}.\n", markdown_table(overview)]
    parts += [section(test, record["figures"]) for test, record in records.items() if record["figures"]]
    return "\n".join(parts)


def described(values: Mapping[str, Any]) -> str:
    """A machine in one line."""
    hardware = [values["processor"], f"{values['cores']} cores", f"{values['memory_gib']} GiB", *filter(None, [values["gpu"]])]
    return f"{', '.join(hardware)}; Python {values['python']}, torch {values['torch']}"


def section(test: str, figures: Mapping[str, Any]) -> str:
    """One test's figures: single values in one table, then every list of rows in its own."""
    single = [{"figure": name, "value": value} for name, value in figures.items() if not isinstance(value, list)]
    tables = [f"{name}\n\n{markdown_table(rows)}" for name, rows in figures.items() if isinstance(rows, list)]
    return "\n".join([f"## {test}\n", *([markdown_table(single)] if single else []), *tables])


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows with equal keys as a Markdown table."""
    if not rows:
        return "None.\n"
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *([cell(row.get(column)) for column in columns] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cell(value: Any) -> str:
    """A value in a table: numbers to four digits, nothing for None."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")
