"""The same request by every way it can be made: the command line, a file, a recipe's line, a clone, a link and the form it fills."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.homes import here
from support.launchers import Nowhere
from typer.testing import CliRunner

from workbench import runs
from workbench.cli.commands import app
from workbench.datasets.reference import DatasetRef
from workbench.jobs.launchers import LAUNCHERS
from workbench.planning import make_plan
from workbench.recipes.lines import RecipeRun, load_recipe
from workbench.request import Request
from workbench.runs.scripts import command_line, notebook, script
from workbench.runs.store import RunStore

SMALL = {"network.base_channels": 8, "network.channel_multipliers": [1, 1], "network.num_res_blocks": 1}
DECLARED = '{"columns":[{"name":"size","edges":[0,5,10]},{"name":"ill","categories":["no","yes, badly"]}],"target":"ill"}'
CASES: dict[str, dict[str, Any]] = {
    "plain": {"method": "dp-merf", "dataset": {}, "epsilon": 10},
    "delta, target and settings": {
        "method": "dp-merf",
        "dataset": {},
        "epsilon": 2.5,
        "delta": 1e-05,
        "target": "claim",
        "settings": {"training.steps": 20, "training.learning_rate": 1 / 3},
    },
    "nested settings": {"method": "nonprivate", "dataset": {}, "settings": {**SMALL, "ema_decay": 0.5, "training.schedule": "constant"}},
    "files of one's own": {
        "method": "dp-merf",
        "dataset": {"own": True, "name": "scans", "resize": "1,4,4", "classes": '["cat", "dog, big"]', "split_seed": 3},
        "epsilon": 5,
    },
    "a table of one's own": {"method": "mst", "dataset": {"table": True, "declared": DECLARED, "split_seed": 2}, "epsilon": 5},
    "with held-out rows of its own": {"method": "mst", "dataset": {"table": True, "declared": DECLARED, "held_out": "h.csv"}, "epsilon": 5},
    "empty texts": {"method": "dp-promise", "dataset": {}, "epsilon": 10, "settings": {"pretraining.dataset": "", "targets": "renoised"}},
}


@pytest.fixture(params=CASES, ids=list(CASES))
def plan_request(request: pytest.FixtureRequest, tmp_path: Path) -> Request:
    """One of several requests, on a registered dataset or on a file."""
    case = dict(CASES[request.param])
    reading = dict(case.pop("dataset"))
    own, table = reading.pop("own", False), reading.pop("table", False)
    if own:
        draw = np.random.default_rng(0)
        np.savez(tmp_path / "digits.npz", images=draw.integers(0, 256, (40, 8, 8, 1), dtype=np.uint8), labels=np.arange(40) % 2)
    if table:
        (tmp_path / "people.csv").write_text("size,ill\n" + '3,no\n7,"yes, badly"\n' * 20)
        if "held_out" in reading:
            reading["held_out"] = str(tmp_path / reading["held_out"])
            Path(reading["held_out"]).write_text("size,ill\n3,no\n")
    place = tmp_path / ("people.csv" if table else "digits.npz") if own or table else "digits"
    return Request.of(dataset=DatasetRef.parse(place, **reading), **case)


def beside_settings(request: Request) -> dict[str, Any]:
    """The options that a person would write, but for those of settings; None is left out."""
    place = request.place
    named = {
        "--dataset": place.text,
        **{f"--{name.replace('_', '-')}": text for name, text in place.texts.items()},
        "--preset": request.preset,
    }
    return named | {
        "--epsilon": request.epsilon,
        "--delta": request.delta,
        "--target": request.target,
        "--split-seed": place.split_seed or None,
    }


def spelled(options: dict[str, Any]) -> list[str]:
    return [word for name, value in options.items() if value is not None for word in (name, str(value))]


def arguments(request: Request) -> list[str]:
    """The command line that a person would write."""
    settings = [
        word
        for name, value in request.settings.items()
        for word in ("--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}")
    ]
    return ["plan", request.method, *spelled(beside_settings(request)), *settings, "--json"]


def planned(arguments: list[str], text: str | None = None) -> Request:
    """The request of the plan that a command prints."""
    result = CliRunner().invoke(app, arguments, input=text, catch_exceptions=False)
    return Request.model_validate(json.loads(result.stdout)["request"])


def test_the_command_line(plan_request: Request) -> None:
    assert planned(arguments(plan_request)).text == plan_request.text


def test_a_file_and_standard_input(plan_request: Request, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(plan_request.text)
    assert planned(["plan", "--request", str(tmp_path / "request.json"), "--json"]).text == plan_request.text
    assert planned(["plan", "--request", "-", "--json"], plan_request.text).text == plan_request.text


def test_a_line_of_a_recipe(plan_request: Request) -> None:
    line = RecipeRun.of("a line", plan_request)
    assert line.request.text == plan_request.text
    assert RecipeRun.model_validate_json(line.model_dump_json()).request.text == plan_request.text
    place = plan_request.place
    written = {f"dataset_{name}" if name == "name" else name: text for name, text in place.texts.items()}
    flat = json.loads(plan_request.text) | {"name": "a line", "dataset": place.text, "split_seed": place.split_seed, **written}
    assert RecipeRun.model_validate(flat).request.text == plan_request.text


def test_a_sweep_of_one_line(plan_request: Request, tmp_path: Path) -> None:
    """Its options are those of a plan, but for one name; a value of its settings is JSON, as commas part them."""
    options = beside_settings(plan_request)
    settings = [word for name, value in plan_request.settings.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    command = [plan_request.method, *spelled({"--epsilons": options.pop("--epsilon"), **options}), *settings]
    path = tmp_path / "sweep.json"
    CliRunner().invoke(app, ["sweep", *command, "--dry-run", "--out", str(path)], catch_exceptions=False)
    (line,) = load_recipe(str(path)).runs
    assert line.request.text == plan_request.text


def test_a_run_and_its_clone(plan_request: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    run = runs.register(here(), make_plan(plan_request))
    assert RunStore(here()).get(run.id).plan.request.text == plan_request.text
    assert runs.clone(here(), run.id).plan.request.text == plan_request.text
    changed = {"dp-merf": {"channels": 8}, "mst": {"share_of_choice": 0.2}}.get(plan_request.method, {"ema_decay": 0.25})
    assert runs.clone(here(), run.id, changed).plan.request.text == plan_request.edited(settings=changed).text != plan_request.text


def test_a_request_and_options_are_not_mixed(tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(Request.of("dp-merf", "digits").text)
    for more in (["dp-merf"], ["--dataset", "digits"], ["--epsilon", "3"], ["--preset", "published"], ["--set", "training.steps=3"]):
        result = CliRunner().invoke(app, ["plan", "--request", str(tmp_path / "request.json"), *more])
        assert "not both" in str(result.exception)


def test_the_command_that_the_workbench_writes(plan_request: Request) -> None:
    words = shlex.split(command_line(plan_request, "plan"))
    assert words[0] == "workbench"
    assert planned([*words[1:], "--json"]).text == plan_request.text


def test_a_script_and_a_notebook_make_the_request_and_its_plan(plan_request: Request) -> None:
    """The steps before the launch, as they stand in the files, in a process's own names."""
    cells = json.loads(notebook(plan_request))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert "".join(code[-1]) in script(plan_request)
    for source in (script(plan_request).partition("\nrun = ")[0], "\n".join(code[:-1])):
        names: dict[str, Any] = {}
        exec(source, names)
        assert names["request"].text == plan_request.text
        assert names["plan"] == make_plan(plan_request)
