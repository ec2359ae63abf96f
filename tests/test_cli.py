"""The command line: what it prints, what programs can read from it, and how it refuses wrong input."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.homes import here
from support.launchers import Here

from workbench import runs
from workbench.cli import main
from workbench.cli.output import print_table
from workbench.jobs.launchers import LAUNCHERS
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.privacy.accounting.gaussian import gdp_epsilon, gdp_mu
from workbench.runs.store import RunStore
from workbench.training.state import PerformanceSettings

QUICK = ["--set", "num_features=100", "--set", "training.steps=4", "--set", "training.batch_size=20"]
VALUE_KEYS = {"epsilon", "status", "accountant", "neighboring_relation", "sampling", "reason", "delta"}

Command = Callable[..., str]


@pytest.fixture
def workbench(capsys: pytest.CaptureFixture[str]) -> Command:
    """`workbench(*arguments)`: the standard output of a command that succeeds."""

    def call(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        output = capsys.readouterr()
        assert ended.value.code == code, output.err
        return output.out if code == 0 else output.err

    return call


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """`train` and `resume` do their work in this process, and wait for it."""
    monkeypatch.setitem(LAUNCHERS, "local", Here())


def read(text: str) -> Any:
    return json.loads(text)


def files_under(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if path.is_file()) if folder.exists() else []


def test_listings(workbench: Command) -> None:
    methods = read(workbench("methods", "--json"))
    assert {"nonprivate", "dp-promise", "dp-merf"} <= {method["name"] for method in methods}
    datasets = read(workbench("datasets", "--json"))
    assert [dataset["num_records"] for dataset in datasets if dataset["name"] == "digits"] == [1500]
    assert read(workbench("runs", "--json")) == []
    assert read(workbench("ledger", "--json")) == []
    assert "dp-promise" in workbench("methods")
    assert "No runs yet" in workbench("runs")


def test_a_plan_has_claim_bound_and_accountants(workbench: Command, workbench_home: Path) -> None:
    plan = read(workbench("plan", "dp-merf", "--dataset", "digits", "--epsilon", "1", "--json"))
    assert {"request", "facts", "config", "releases", "delta", "claim", "bound", "accountants"} <= set(plan)
    assert set(plan["claim"]) >= VALUE_KEYS
    assert set(plan["bound"]) >= VALUE_KEYS
    assert plan["delta"] == pytest.approx(1 / (1500 * 7.313220387))
    assert 0.99 < plan["bound"]["epsilon"] <= 1
    mu = gdp_mu(plan["bound"]["epsilon"], plan["delta"])
    strict = {"epsilon": pytest.approx(gdp_epsilon(mu, 1500**-2), rel=1e-6), "delta": 1500**-2}
    assert plan["bound at delta 1/n^2"] == strict
    assert "bound at delta 1/n^2" in workbench("plan", "dp-merf", "--dataset", "digits", "--epsilon", "1")
    assert plan["bound"]["status"] == "proved"
    assert set(plan["accountants"]) == set(ACCOUNTANTS) >= {"gdp", "rdp", "pld"}
    assert not workbench_home.exists()


def test_a_plan_shows_the_bound_before_any_setting_and_the_rest_on_demand(workbench: Command) -> None:
    command = ("plan", "dpdm", "--dataset", "digits", "--epsilon", "1", "--set", "training.steps=50")
    shown = workbench(*command)
    assert shown.index("\nbound") < shown.index("\nclaim") < shown.index("settings that are not at their defaults")
    assert "training.steps" in shown
    assert "training.noise_multiplier" in shown, "what calibration found"
    assert "selection" not in shown, "a section that this plan does not use"
    assert len(shown.splitlines()) < 45
    everything = workbench(*command, "--all")
    assert everything.index("\nbound") < everything.index("\nconfig")
    assert "selection" in everything


def test_a_dataset_of_the_ledger_is_named_with_or_without_its_option(workbench: Command) -> None:
    workbench("ledger", "--dataset", "digits", "--budget", "1", "--delta", "1e-4")
    assert workbench("ledger", "digits") == workbench("ledger", "--dataset", "digits")
    assert "Give either" in workbench("ledger", "digits", "--dataset", "mnist", code=2)


@pytest.mark.parametrize("columns", [80, 60])
def test_no_word_of_a_table_is_broken(columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    measure = {"name": "accuracy_logistic_regression", "value": "0.9234 (private)", "interval": "0.9123, 0.9345 (private)"}
    rows = [measure | {"epsilon_zero": "0.7421 (releasable)", "ceiling": "0.963 (private)", "split": "held-out", "protocol": "workbench"}]
    print_table(rows, "")
    lines = capsys.readouterr().out.splitlines()
    words = " ".join(lines).split()
    assert all(word in words for cell in rows[0].values() for word in cell.split())
    assert max(map(len, lines)) <= columns
    assert sum("accuracy_logistic_regression" in line for line in lines) >= 2, "the first column heads what follows"


@pytest.mark.parametrize(
    ("value", "said"),
    [("training.steps=abc", "Expected a whole number, got 'abc'"), ("training.steps=0", "Expected at least 1, got 0"),
     ("network.base_channels=1.5", "Expected a whole number, got 1.5"), ("ema_decay=no", "Expected a number, got 'no'")],
)  # fmt: skip
def test_a_setting_of_another_type_is_refused_in_our_words(value: str, said: str, workbench: Command) -> None:
    assert said in workbench("plan", "nonprivate", "--dataset", "digits", "--set", value, code=2)


@pytest.mark.parametrize("command", ["methods", "datasets", "claims", "plan dp-merf --dataset mnist --epsilon 1"])
def test_what_only_tells_and_plans_makes_no_home(command: str, workbench: Command, workbench_home: Path) -> None:
    assert workbench(*command.split())
    assert not workbench_home.exists()


def test_a_person_with_several_records_has_a_bound_of_their_own(workbench: Command) -> None:
    plan = read(workbench("plan", "dp-merf", "--dataset", "digits", "--epsilon", "1", "--group-size", "3", "--json"))
    mu = 3 * 0.5 / plan["config"]["noise_multiplier"]  # three times the distance to a null record, half of that to another record
    assert plan["group_size"] == 3
    assert plan["group_bound"]["epsilon"] == pytest.approx(gdp_epsilon(mu, plan["delta"]), rel=0.01)
    assert "bound for groups of 2" in workbench("plan", "dp-merf", "--dataset", "digits", "--epsilon", "1", "--group-size", "2")


def test_facts_may_stand_for_a_dataset(workbench: Command) -> None:
    by_hand = ("--num-records", "1500", "--shape", "1,8,8")
    plan = read(workbench("plan", "dp-merf", *by_hand, "--epsilon", "1", "--json"))
    named = read(workbench("plan", "dp-merf", "--dataset", "digits", "--epsilon", "1", "--json"))
    assert plan["bound"] == named["bound"]


def test_infinity_is_a_word(workbench: Command) -> None:
    plan = read(workbench("plan", "nonprivate", "--dataset", "digits", "--json"))
    assert plan["bound"]["epsilon"] == "inf"


def test_nested_fields_are_set_by_dotted_names(workbench: Command) -> None:
    settings = ("--set", "network.base_channels=16", "--set", "network.channel_multipliers=[1, 1]", "--set", "training.schedule=constant")
    config = read(workbench("plan", "nonprivate", "--dataset", "digits", *settings, "--json"))["config"]
    assert config["network"]["base_channels"] == 16
    assert config["network"]["channel_multipliers"] == [1, 1]
    assert config["training"]["schedule"] == "constant"


def test_epsilon_by_every_accountant(workbench: Command) -> None:
    arguments = ("--noise-multiplier", "1.1", "--sample-rate", "0.01", "--steps", "1000", "--delta", "1e-5")
    values = read(workbench("epsilon", *arguments, "--json"))
    assert values["bound"] == pytest.approx(min(values["rdp"], values["pld"]))
    assert values["gdp"] < values["bound"] < values["rdp"] * 1.001
    assert "pld" in workbench("epsilon", *arguments)


def test_claims_cover_methods_that_cannot_be_trained_yet(workbench: Command) -> None:
    rows = read(workbench("claims", "--json"))
    assert len(rows) > len(read(workbench("methods", "--json")))
    assert all(set(row["claim"]) >= VALUE_KEYS and row["bound"]["reason"] for row in rows)


@pytest.mark.usefixtures("trained")
def test_a_run_from_training_to_its_deletion(workbench: Command, tmp_path: Path) -> None:
    lines = workbench("train", "dp-merf", "--dataset", "digits", "--epsilon", "10", *QUICK, "--device", "cpu", "--wait").splitlines()
    run = read(lines[-1])["run"]
    assert any("bound" in line for line in lines[:-1])
    only = workbench("train", "dp-merf", "--dataset", "digits", "--epsilon", "10", *QUICK, "--seed", "1", "--yes", "--json").splitlines()[
        -1
    ]
    assert list(read(only)) == ["run"]

    shown = read(workbench("show", run, "--json"))
    assert {"id", "method", "dataset", "state", "step", "steps", "epsilon_spent", "claim", "bound", "config"} <= set(shown)
    assert (shown["id"], shown["state"], shown["step"], shown["releasable"]) == (run, "done", shown["steps"], True)
    assert shown["epsilon_spent"] == shown["bound"]["epsilon"]
    assert shown["config"]["num_features"] == 100
    assert shown["replace_one"] == shown["plan"]["replace_one"]
    assert shown["replace_one"]["epsilon"] > shown["bound"]["epsilon"]
    words = workbench("show", run)
    assert "done" in words
    assert not {"turn", "settled"} & {line.split(" ")[0] for line in words.splitlines()}
    assert words.index("bound where one record is replaced") < words.rindex("REPLACE_ONE")
    listed = read(workbench("runs", "--json"))
    assert {entry["id"] for entry in listed} == {run, read(only)["run"]}
    assert read(workbench("runs", "--state", "failed", "--json")) == []

    out = tmp_path / "samples.npz"
    assert read(workbench("sample", run, "--num", "30", "--out", str(out), "--json"))["releasable"] is True
    with np.load(out, allow_pickle=False) as file:
        assert file["images"].shape == (30, 8, 8, 1)
        assert file["images"].dtype == np.uint8
        assert file["labels"].tolist() == [*range(10)] * 3
    sheet = tmp_path / "sheet.png"
    written = read(workbench("sample", run, "--num", "30", "--sheet", str(sheet), "--with-records", "--json"))
    assert (written["sheet"], written["on_sheet"]) == (str(sheet), 30)
    with Image.open(sheet) as picture:
        assert re.match(rf"Run {run}: [\w-]+ on digits, proved epsilon [\d.]+ at delta ", str(picture.info["about"]))
    evaluation = read(workbench("evaluate", run, "--num", "30", "--metric", "accuracy_logistic_regression", "--json"))
    keys = {"name", "value", "interval", "num_samples", "features", "split", "seconds", "releasable", "ceiling_releasable"}
    assert keys <= set(evaluation["results"][0])
    assert evaluation["results"][0]["ceiling"] > 0.5
    left = read(workbench("evaluate", run, "--num", "30", "--metric", "accuracy_logistic_regression", "--releasable", "--json"))
    assert [left["results"][0][name] for name in ("value", "interval", "ceiling")] == [None, None, None]
    made = read(workbench("sample", run, "--num", "4", "--label", "3", "--seed", "1", "--json"))
    assert (made["num_samples"], made["releasable"]) == (4, True)
    assert read(workbench("sample", run, "--num", "6", "--label", "3", "--seed", "1", "--plan", "--json"))["releases"] == []
    sets = read(workbench("samples", run, "--json"))
    assert [(one["samples"], one["num_samples"], one["evaluated"]) for one in sets] == [("default", 30, True), (made["samples"], 4, False)]
    near = read(workbench("neighbours", run, "--samples", made["samples"], "--num", "4", "--out", str(tmp_path / "set.html"), "--json"))
    assert (near["samples"], near["num_samples"]) == (made["samples"], 4)
    other = read(workbench("import", str(out), "--dataset", "digits", "--name", "theirs", "--json"))
    assert (other["bound"], other["releasable"], other["num_samples"]) == ("none known", False, 30)
    assert "theirs" in workbench("samples")
    evaluation = read(workbench("evaluate", other["run"], "--metric", "inception_score", "--json"))
    assert (evaluation["results"][0]["releasable"], evaluation["claim_only"]) == (False, False)
    workbench("forget", other["run"])
    assert read(workbench("samples", "--json")) == []
    page = tmp_path / "neighbours.html"
    workbench("neighbours", run, "--num", "30", "--out", str(page))
    assert "<img" in page.read_text()

    ledger = read(workbench("ledger", "--json"))
    assert len(ledger) == 1
    assert len(ledger[0]["runs"]) == 2
    assert ledger[0]["total"]["neighboring_relation"] == "REPLACE_SPECIAL"
    workbench("ledger", "--dataset", "digits", "--budget", "1", "--delta", "1e-4")
    assert read(workbench("ledger", "--json"))[0]["budget"] == {"epsilon": 1.0, "delta": 1e-4}

    workbench("delete", run, "--yes")
    assert [entry["id"] for entry in read(workbench("runs", "--json"))] == [read(only)["run"]]
    assert len(read(workbench("ledger", "--json"))[0]["runs"]) == 2


@pytest.mark.usefixtures("trained")
def test_warnings_go_to_stderr(workbench: Command, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "dp-merf", "--dataset", "digits", "--epsilon", "10", *QUICK, "--delta", "0.001", "--seed", "1", "--json"])
    output = capsys.readouterr()
    assert "NOT releasable" in output.err
    assert "1/num_records" in output.err
    assert list(read(output.out.splitlines()[-1])) == ["run"]


@pytest.mark.usefixtures("trained")
def test_an_equal_plan_on_the_same_records_is_asked_about(workbench: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("train", "dp-merf", "--dataset", "digits", "--epsilon", "10", *QUICK, "--device", "cpu", "--json")
    first = read(workbench(*command).splitlines()[-1])["run"]
    clone = ("clone", first)
    price = f"Run {first} has this very plan on the same records (done, epsilon 9.983 spent). Another one spends 9.983 more"
    for again in (command, clone):  # in a script nobody can answer
        refused = workbench(*again, code=2)
        assert price in refused
        assert "Nothing was started: --yes" in refused
    monkeypatch.setattr("workbench.cli.starting.sys.stdin", Terminal("n\nn\ny\n"))
    for again in (command, clone):
        assert price in workbench(*again, code=1)
    assert len(RunStore(here()).list()) == 1
    second = read(workbench(*command).splitlines()[-1])["run"]
    workbench(*clone, "--set", "training.steps=5")  # another plan
    third = read(workbench("clone", second, "--yes").splitlines()[-1])["run"]
    assert len({first, second, third}) == 3
    assert len(RunStore(here()).list()) == 4


class Terminal(StringIO):
    """A person who types these lines."""

    def isatty(self) -> bool:
        """Yes: they can answer."""
        return True


def test_delete_asks(workbench: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench import experiment

    plan = experiment.make_plan("dp-merf", experiment.load("digits").facts, epsilon=10)
    run = runs.register(here(), plan, "digits", performance=PerformanceSettings(device="cpu"))
    monkeypatch.setattr(sys, "stdin", open("/dev/null"))  # noqa: SIM115
    workbench("delete", run.id, code=130)
    assert RunStore(here()).get(run.id).id == run.id


def image(path: Path, side: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.zeros((side, side), np.uint8)).save(path)


@pytest.fixture
def bad_data(tmp_path: Path) -> dict[str, str]:
    """Paths to data that cannot be used."""
    (tmp_path / "empty" / "a").mkdir(parents=True)
    for number, side in enumerate((8, 8, 9, 8)):
        image(tmp_path / "mixed" / "ab"[number % 2] / f"{number}.png", side)
    np.savez(tmp_path / "objects.npz", images=np.array([{"an": "object"}] * 4, dtype=object), labels=np.zeros(4, np.int64))
    return {"empty": str(tmp_path / "empty"), "mixed": str(tmp_path / "mixed"), "objects": str(tmp_path / "objects.npz")}


POISSON = ("--noise-multiplier", "1", "--sample-rate", "0.1", "--steps", "10", "--delta", "1e-5")
FIXED = ("--set", "phase_two.noise_multiplier=9", "--set", "boundary=999")  # nothing to calibrate
REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "delta above 1": (("train", "dp-merf", "--dataset", "digits", "--epsilon", "1", "--delta", "2"), "delta in (0, 1), got 2.0"),
    "delta 0": (("plan", "dp-merf", "--dataset", "digits", "--epsilon", "1", "--delta", "0"), "delta in (0, 1), got 0.0"),
    "delta of epsilon": (("epsilon", *POISSON[:-1], "1"), "delta in (0, 1), got 1.0"),
    "delta not a number": (("plan", "dp-merf", "--dataset", "digits", "--epsilon", "1", "--delta", "nan"), "delta in (0, 1)"),
    "epsilon 0": (("train", "dp-merf", "--dataset", "digits", "--epsilon", "0"), "epsilon above 0"),
    "negative epsilon": (("train", "dp-promise", "--dataset", "digits", "--epsilon", "-1"), "epsilon above 0"),
    "infinite epsilon": (("plan", "dp-merf", "--dataset", "digits", "--epsilon", "inf"), "epsilon above 0"),
    "epsilon not a number": (("plan", "dp-merf", "--dataset", "digits", "--epsilon", "ten"), "--epsilon"),
    "sampling rate above 1": (("epsilon", "--noise-multiplier", "1", "--sample-rate", "1.5", *POISSON[4:]), "1.5"),
    "negative noise": (("epsilon", "--noise-multiplier", "-1", *POISSON[2:]), "-1"),
    "negative steps": (("epsilon", *POISSON[:4], "--steps", "-1", "--delta", "1e-5"), "-1"),
    "unknown method": (("train", "gan", "--dataset", "digits"), "Unknown method 'gan'. Choose one of:"),
    "unknown dataset": (("train", "dp-merf", "--dataset", "cats"), "Unknown dataset 'cats'. Choose one of:"),
    "a group of nobody": (("plan", "dp-merf", "--dataset", "digits", "--epsilon", "1", "--group-size", "0"), "group_size >= 1"),
    "unknown preset": (("plan", "dp-merf", "--dataset", "digits", "--preset", "best"), "preset"),
    "unknown field": (("plan", "dp-merf", "--dataset", "digits", "--set", "depth=3"), "noise_multiplier"),
    "unknown nested field": (("plan", "nonprivate", "--dataset", "digits", "--set", "network.depth=3"), "base_channels"),
    "a field without a value": (
        ("plan", "dp-merf", "--dataset", "digits", "--set", "training.steps"),
        "Expected KEY=VALUE, got 'training.steps'",
    ),
    "a field of the wrong kind": (("plan", "dp-merf", "--dataset", "digits", "--set", "training.steps=many"), "training.steps"),
    "unknown speed setting": (("train", "dp-merf", "--dataset", "digits", "--performance", "speed=9"), "microbatch_size"),
    "unknown device": (("train", "dp-merf", "--dataset", "digits", "--epsilon", "1", "--device", "quantum"), "quantum"),
    "an epsilon for nonprivate": (("train", "nonprivate", "--dataset", "digits", "--epsilon", "1"), "takes no epsilon"),
    "no facts": (("plan", "dp-merf", "--num-records", "100"), "--num-records together with --shape"),
    "a bad shape": (("plan", "dp-merf", "--num-records", "100", "--shape", "8x8"), "shape C,H,W"),
    "a shape of superscripts": (("plan", "dp-merf", "--num-records", "100", "--shape", "²,8,8"), "shape C,H,W"),
    "an unknown public dataset": (
        ("train", "dp-promise", "--dataset", "digits", *FIXED, "--set", "pretraining.dataset=cats"),
        "Unknown dataset 'cats'",
    ),
    "the private dataset as the public one": (
        ("train", "dp-promise", "--dataset", "digits", *FIXED, "--set", "pretraining.dataset=digits"),
        "other than the private one",
    ),
    "an unknown metric": (("evaluate", "abcdefgh", "--metric", "beauty"), "Unknown metric 'beauty'"),
    "a batch larger than the dataset, without privacy": (
        ("plan", "nonprivate", "--dataset", "digits", "--set", "training.batch_size=5000"),
        "batch_size of training of at most the 1500 training records",
    ),
    "public records that cannot be drawn": (
        ("train", "dp-promise", "--dataset", "digits", "--epsilon", "10", "--set", "pretraining.records=5"),
        "at least 10 public records of glyphs",
    ),
    "a batch larger than the dataset": (
        ("train", "dp-promise", "--dataset", "digits", "--epsilon", "10", "--set", "phase_two.batch_size=2000"),
        "2000",
    ),
    "a path that is not there": (("train", "dp-merf", "--dataset", "./nowhere/at-all"), "nowhere"),
    "unknown run": (("show", "abcdefgh"), "Unknown run 'abcdefgh'"),
    "malformed run": (("show", "../../etc"), "Expected a run id"),
    "cancel of an unknown run": (("cancel", "abcdefgh"), "Unknown run"),
    "resume of an unknown run": (("resume", "abcdefgh"), "Unknown run"),
    "finish of an unknown run": (("finish", "abcdefgh"), "Unknown run"),
    "deletion of an unknown run": (("delete", "abcdefgh", "--yes"), "Unknown run"),
    "samples of an unknown run": (("sample", "abcdefgh", "--out", "samples.npz"), "Unknown run"),
    "evaluation of an unknown run": (("evaluate", "abcdefgh"), "Unknown run"),
    "neighbours of an unknown run": (("neighbours", "abcdefgh", "--out", "page.html"), "Unknown run"),
    "a file of the wrong kind": (("sample", "abcdefgh", "--out", "samples.txt"), ".npz"),
    "a folder that looks writable": (
        ("sample", "abcdefgh", "--out", "/proc/samples.npz"),
        "a folder that can be written, got /proc/samples.npz",
    ),
    "a folder that is not there": (("sample", "abcdefgh", "--out", "/nowhere/samples.npz"), "folder that exists"),
    "what a field allows, told once": (
        ("plan", "mst", "--dataset", "breast-cancer", "--epsilon", "1", "--set", "columns.quantile_ranges=3"),
        "mst: columns: Expected quantile_ranges of 0, 2, 4, 8 or 16, as each range is cut at its median, got 3.",
    ),
    "an option out of its range": (
        ("caught", "dpgen", "--trials", "1"),
        "'--trials': Expected at least 2, got '1'.",
    ),
    "an option of other words": (("train", "mst", "--audit-kind", "odd"), "'odd' is not one of 'labels', 'blank', 'patterns'."),
    "a delta below what the noise's sampler costs": (
        ("plan", "mst", "--dataset", "breast-cancer", "--epsilon", "1", "--delta", "1e-300"),
        "Expected a delta above",
    ),
    "an epsilon above what delta pays for": (
        ("plan", "mst", "--dataset", "breast-cancer", "--epsilon", "1000", "--delta", "1e-5"),
        "Expected a target epsilon below 14",
    ),
    "a file of another kind for what was caught": (("caught", "dpgen", "--out", "caught.txt"), "ends in .json"),
    "no folder of results": (("comparisons", "nowhere"), "Expected a folder of results, got nowhere."),
    "a request in no file": (("plan", "--request", "nowhere"), "request as JSON in nowhere, which cannot be read (No such file or"),
    "a request in a folder": (("plan", "--request", "/"), "request as JSON in /, which cannot be read (Is a directory)."),
    "jobs of nothing": (("jobs", "nothing"), "Expected a run id"),
    "forgetting what has no id": (("forget", "nothing"), "Expected an import id of 8 lower-case letters and digits, got 'nothing'."),
    "unknown state": (("runs", "--state", "happy"), "Unknown state 'happy'"),
    "unknown recipe": (("reproduce", "nothing"), "Unknown recipe 'nothing'"),
    "unknown command": (("fly",), "fly"),
    "unknown option": (("runs", "--fast"), "--fast"),
    "no records in the ledger": (("ledger", "--dataset", "cats"), "No run in the ledger"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_input_is_one_sentence_and_writes_nothing(
    case: str, workbench: Command, workbench_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, sentence = REFUSED[case]
    error = workbench(*arguments, code=2)
    assert sentence in error
    assert "Traceback" not in error
    assert len(error.strip().splitlines()) == 1
    written = {Path(path).name for path in files_under(tmp_path)}
    assert not {name for name in written if not name.startswith("ledger.sqlite")}
    assert not (workbench_home / "runs").exists()


@pytest.mark.parametrize(("data", "sentence"), [("empty", "image"), ("mixed", "size"), ("objects", "object")])
@pytest.mark.parametrize("command", ["plan", "train"])
def test_bad_data_is_one_sentence_and_writes_nothing(
    data: str, sentence: str, command: str, bad_data: dict[str, str], workbench: Command, workbench_home: Path
) -> None:
    error = workbench(command, "dp-merf", "--dataset", bad_data[data], "--epsilon", "1", code=2)
    assert sentence in error
    assert len(error.strip().splitlines()) == 1
    assert files_under(workbench_home) == []


def test_a_home_that_cannot_be_used_is_one_sentence(workbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "file"))
    assert "WORKBENCH_HOME" in workbench("runs", code=2)
    (tmp_path / "home" / "runs.sqlite").mkdir(parents=True)
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    error = workbench("runs", code=1)
    assert "could not be read or written" in error
    assert len(error.strip().splitlines()) == 1


def test_listings_start_quickly_without_torch_and_pandas() -> None:
    script = "import sys; sys.argv = ['workbench', 'runs']\nfrom workbench.cli import main\ntry:\n    main()\n"
    script += "except SystemExit as end:\n    assert not end.code\nassert not {'torch', 'pandas'} & sys.modules.keys()"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_a_bound_that_is_infinite_needs_the_claim_by_name(workbench: Command, workbench_home: Path) -> None:
    arguments = ("train", "dp-promise", "--dataset", "digits", "--set", "targets=paper", "--set", "boundary=900", "--epsilon", "10")
    error = workbench(*arguments, code=2)
    assert "claim" in error
    assert files_under(workbench_home) == []
    plan = read(workbench("plan", *arguments[1:], "--target", "claim", "--json"))
    assert plan["bound"]["epsilon"] == "inf"
    assert plan["bound"]["status"] == "refuted"
    assert 9.9 < plan["claim"]["epsilon"] <= 10
