"""What a fresh clone relies on: pins, environments, Makefile, licence, settings of the app, and documents that agree with the tree."""

import json
import os
import re
import stat
import subprocess
import tomllib
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from benchmarks import report
from workbench.recipes import documents
from workbench.recipes import report as recipe_report
from workbench.recipes.lines import Recipe, load_recipe

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
FLOOR = Version("3.11")
PYTHON_FILES = [path for folder in ("workbench", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]


def read(name: str) -> str:
    return (ROOT / name).read_text()


def pins() -> dict[str, Version]:
    lines = [line for line in read("constraints.txt").splitlines() if line and not line.startswith("#")]
    requirements = [Requirement(line) for line in lines]
    return {canonicalize_name(requirement.name): Version(next(iter(requirement.specifier)).version) for requirement in requirements}


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", read("Makefile"), flags=re.MULTILINE))


def make(*arguments: str) -> str:
    """What make would run; nothing is run."""
    return subprocess.run(["make", "--dry-run", "--always-make", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_git_ignores_what_the_commands_of_the_readme_write() -> None:
    written = re.findall(r"(?:--out |--sheet |> |export ID )([\w.]+\.\w+)", read("README.md"))
    assert set(written) == {"neighbours.html", "attacker.html", "run.zip", "people.declared.json", "samples.png", "photos.png"}
    patterns = [line.removeprefix("/") for line in read(".gitignore").splitlines() if line.startswith("/")]
    assert [name for name in (*written, "people.csv") if not any(fnmatch(name, pattern) for pattern in patterns)] == []


# Dependencies


@pytest.mark.parametrize("line", [*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)])
def test_every_dependency_is_pinned_within_its_range(line: str) -> None:
    requirement = Requirement(line)
    assert pins()[canonicalize_name(requirement.name)] in requirement.specifier
    assert any(specifier.operator == "<" for specifier in requirement.specifier), "a range needs an upper end"


def test_constraints_hold_on_every_machine() -> None:
    lines = [line for line in read("constraints.txt").splitlines() if line]
    assert [
        line for line in lines if not re.fullmatch(r"(#.*|[a-z0-9._-]+==[0-9][a-z0-9.]*)", line)
    ] == []  # no local version, host or path
    assert pins()["torch"] == Version("2.13.0")
    assert len(pins()) == len([line for line in lines if not line.startswith("#")])


def test_one_python_floor_everywhere() -> None:
    settings = tomllib.loads(read("pyproject.toml"))["tool"]
    assert FLOOR in SpecifierSet(PROJECT["requires-python"])
    assert Version("3.10") not in SpecifierSet(PROJECT["requires-python"])
    assert f"python>={FLOOR}" in read("environment.yml")
    assert settings["ruff"]["target-version"] == "py311"
    assert settings["pyright"]["pythonVersion"] == str(FLOOR)
    assert "sys.version_info < (3, 11)" in read("Makefile")


def test_the_conda_environment_leaves_everything_to_the_project() -> None:
    entries = re.findall(r"^\s*- (.+)$", read("environment.yml"), flags=re.MULTILINE)
    assert entries == ["conda-forge", "python>=3.11", "pip", "pip:", '"-c constraints.txt"', '"-e .[dev]"']


def test_nothing_imports_torchvision() -> None:
    importing = re.compile(r"^\s*(import|from) torchvision", flags=re.MULTILINE)
    assert [str(path.relative_to(ROOT)) for path in PYTHON_FILES if importing.search(path.read_text())] == []


# The package


def test_licence_and_project_agree() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert "LICENSE" in PROJECT["license-files"]
    text = read("LICENSE")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert "DP diffusion workbench authors" in text


def test_published_results_ship_with_the_package() -> None:
    from importlib.resources import files

    patterns = tomllib.loads(read("pyproject.toml"))["tool"]["setuptools"]["package-data"]["workbench"]
    assert files("workbench.published").joinpath("published_results.csv").is_file()
    for path in (ROOT / "workbench").rglob("*"):
        is_data = path.is_file() and path.suffix not in (".py", ".pyc")
        assert not is_data or f"**/*{path.suffix}" in patterns, f"{path} would be missing from an installation"


def test_every_folder_of_the_package_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "workbench").rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_every_recipe_can_be_read() -> None:
    from workbench.recipes.lines import load_recipe, recipe_names

    assert {"digits", "mnist"} <= set(recipe_names())
    for name in recipe_names():
        assert load_recipe(name).runs


def test_the_app_listens_on_this_machine_alone() -> None:
    settings = tomllib.loads(read("workbench/server/config.toml"))
    assert settings["server"]["address"] == "127.0.0.1"
    assert settings["server"]["allowedHosts"] == ["localhost", "127.0.0.1"]
    assert 0 < settings["server"]["maxUploadSize"] <= 200
    assert settings["browser"]["gatherUsageStats"] is False


# Commands


def test_the_documents_name_targets_that_exist() -> None:
    command = re.compile(r"(?:^|`)(?:[A-Z_]+=\S+ |TORCH_INDEX=<[^>]*> )*make ([a-z-]+)", flags=re.MULTILINE)
    named = {target for name in ("README.md", "CONTRIBUTING.md") for target in command.findall(read(name))}
    assert {"app", "lab", "test"} <= named
    assert named <= make_targets()
    assert {"setup", "app", "lab", "test", "test-slow", "lint", "bench", "lock"} <= make_targets()


def test_the_documents_name_commands_that_exist() -> None:
    from workbench.cli.commands import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback is not None}
    known |= {group.name or "" for group in app.registered_groups}
    texts = [document.read_text() for document in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))]
    named = {
        command
        for text in texts
        for command in re.findall(r"workbench ([a-z]+(?:-[a-z]+)*)\b[^.]", "\n".join(re.findall(r"`([^`\n]+)`", text)))
    }
    assert named - known == set()


def test_printed_commands_name_options_that_exist() -> None:
    import typer

    from workbench.cli.commands import app

    whole: Any = typer.main.get_command(app)
    documents = [ROOT / "README.md", *(ROOT / "docs" / "start").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")]
    lines = [
        line for document in documents for line in re.findall(r"(?:^|`)workbench ([a-z][^`\n]*)", document.read_text(), flags=re.MULTILINE)
    ]
    assert len(lines) > 60
    for line in lines:
        name, *words = line.split("   #")[0].split()
        command = whole.commands[name]
        parts = [command, *getattr(command, "commands", {}).values()]
        known = {option for part in parts for parameter in part.params for option in (*parameter.opts, *parameter.secondary_opts)} | {
            "--help"
        }
        assert {word for word in words if word.startswith("--")} <= known, line


def test_the_documents_link_to_files_that_exist() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", re.sub(r"`[^`\n]*`", "", document.read_text())):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_setup_uses_the_pins_and_the_chosen_index() -> None:
    assert "-c constraints.txt -e ." in make("app")
    assert "--extra-index-url" not in make("app", "TORCH_INDEX=")
    assert '--extra-index-url "somewhere"' in make("test", "TORCH_INDEX=somewhere")
    assert "--port 8600" in make("app", "PORT=8600")


def test_an_old_python_is_refused_in_words(tmp_path: Path) -> None:
    interpreter = tmp_path / "python"
    interpreter.write_text('#!/bin/sh\n[ "$1" = --version ] && { echo Python 3.9.2; exit 0; }\nexit 1\n')
    interpreter.chmod(0o755)
    command = ["make", "setup", f"PYTHON={interpreter}", f"VENV={tmp_path / 'venv'}"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "Expected Python 3.11 or newer, got 'Python 3.9.2'" in result.stderr
    assert not (tmp_path / "venv").exists()


def test_a_python_without_venv_is_refused_in_words(tmp_path: Path) -> None:
    interpreter = tmp_path / "python"
    interpreter.write_text('#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\n')
    interpreter.chmod(0o755)
    command = ["make", "setup", f"PYTHON={interpreter}", f"VENV={tmp_path / 'venv'}"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "its venv module is missing" in result.stderr


def test_the_check_of_every_change_is_a_script_that_runs() -> None:
    script = ROOT / ".ci" / "run"
    assert os.stat(script).st_mode & stat.S_IXUSR
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    assert {"make lint", "make test"} <= set(re.findall(r"make [a-z]+", script.read_text()))


# Documents


def test_the_coverage_table_has_every_row_once_with_a_state() -> None:
    rows = [line.split(" | ") for line in read("docs/coverage.md").splitlines() if re.match(r"\| [A-Z]\d+ \|", line)]
    assert {len(row) for row in rows} == {7}
    identifiers = [row[0].removeprefix("| ") for row in rows]
    counts = {"C": 13, "X": 12, "S": 14, "D": 13, "P": 16, "M": 5}
    assert identifiers == [f"{letter}{number}" for letter, count in counts.items() for number in range(1, count + 1)]
    states = [row[-1].removesuffix(" |") for row in rows]
    assert [
        state for state in states if not re.match(r"(done(, on .+)?|partly: .+|not yet: .+|not measured: .+|out of scope: .+)$", state)
    ] == []
    unsaid = [name for name, state in zip(identifiers, states, strict=True) if not re.search(r"\bon [A-Za-z]", state) and name[0] != "M"]
    assert unsaid == [], "on what?"


def test_the_changelog_starts_with_the_project_version() -> None:
    assert f"## {PROJECT['version']}" in read("CHANGELOG.md")


def test_the_page_of_all_methods_is_what_its_results_give() -> None:
    results = json.loads((ROOT / "docs/results/baselines.json").read_text())
    recipe = load_recipe("baselines")
    assert Recipe.model_validate(results["recipe"]) == recipe
    assert read("docs/results/baselines.md") == documents.page(results["results"], recipe)


@pytest.mark.parametrize(
    "recipe", ["digits", "floor", "papers", "distillation", "mnist", "mnist-eps1", "mnist-eps10", "tables", "adult", "faces"]
)
def test_the_results_show_the_recipe_s_own_table(recipe: str) -> None:
    text, results = (ROOT / f"docs/results/{recipe}.md").read_text(), json.loads((ROOT / f"docs/results/{recipe}.json").read_text())
    table = text[text.index("| line |") :]
    measure = results["recipe"]["measure"]
    lines = recipe_report.markdown_table({measure: recipe_report.measured_lines(results["results"], measure)})
    assert table == lines if not results["recipe"].get("side_by_side") else table.startswith(f"{lines}\n## All measures\n")
    assert f"<!-- {recipe}:begin -->\n{lines}<!-- {recipe}:end -->" in read("docs/results/index.md")


@pytest.mark.parametrize("recipe", ["how-tight", "pac-noise", "frontier", "digits-10000-samples", "leaderboard", "adult", "adult-audits"])
def test_a_document_of_results_is_made_of_them(recipe: str) -> None:
    from workbench.recipes.lines import load_recipe

    made, rows = recipe_report.recipe_with_results(ROOT / f"docs/results/{recipe}.json")
    assert (ROOT / f"docs/results/{recipe}.md").read_text() == documents.page(rows, made)
    assert f"({recipe}.md)" in read("docs/results/index.md")
    assert {line.name for line in made.runs} == {line.name for line in load_recipe(recipe).runs} >= {row["name"] for row in rows}


def test_the_readme_is_short_and_its_table_is_the_leaderboard_s() -> None:
    readme, board = read("README.md"), read("docs/results/leaderboard.md")
    assert len(readme.splitlines()) <= 120

    def cell(line: str, column: int) -> str:
        row = next(row for row in board.splitlines() if row.startswith(f"| {line} |"))  # its first table has accuracies
        return row.split(" | ")[column].removesuffix(" (private)").replace("0.", ".").removesuffix(" |")

    for data, bound in product(("MNIST", "Fashion-MNIST"), (1, 10)):
        ours = re.findall(rf"^\| {data}, bound {bound}: ([a-z-]+) \|", board, flags=re.MULTILINE)
        best = max(ours, key=lambda method: float(cell(f"{data}, bound {bound}: {method}", 3).split(" ")[0]))
        line, floor = f"{data}, bound {bound}: {best}", f"{data}, bound {bound}: class-moments (floor)"
        row = next(row for row in readme.splitlines() if row.startswith(f"| {data}, {bound} |"))
        assert f"| {cell(floor, 3)} | {cell(line, 3)} (`{best}`) | {cell(line, 4)} s |" in row


def test_the_benchmark_s_tables_are_those_of_its_results() -> None:
    results = json.loads((ROOT / "benchmarks/results.json").read_text())
    assert (ROOT / "benchmarks/results.md").read_text() == report.markdown(results)
    assert {row["noise_multiplicity"] for row in results["rows"]} == {1, 4, 8, 32}
    assert all(row["rounds"] >= 9 for row in results["rows"])
