"""The slow tier's records: when they stand, when they do not, and how they read."""

import hashlib
import json
from pathlib import Path

import pytest
from support import slow_tier

# pytester forgets what its own runs import, and numpy is imported only once
from workbench.training import checkpoints  # noqa: F401

pytest_plugins = ["pytester"]

MODULE = '''
"""A module."""

def double(x):
    """Twice x."""
    return 2 * x  # a comment
'''
TEST = """
import pytest

@pytest.mark.slow(depends=["workbench/thing.py"])
def test_full_size(figures):
    figures["accuracy"] = 0.875
    figures["lines"] = [{"line": "a", "mean": 0.5}, {"line": "b", "mean": None}]
"""


@pytest.fixture
def checkout(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with one module and one slow test."""
    pytester.makeini("[pytest]\nmarkers = slow: full size\naddopts = -p support.slow_tier\n")
    write(pytester.path / "workbench/thing.py", MODULE)
    write(pytester.path / "tests/test_thing.py", TEST)
    return pytester


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def outcomes(checkout: pytest.Pytester, *arguments: str) -> dict[str, int]:
    return checkout.runpytest_inprocess(*arguments).parseoutcomes()


def test_a_record_stands_until_the_code_it_depends_on_changes(checkout: pytest.Pytester) -> None:
    assert outcomes(checkout) == {"passed": 1}
    assert outcomes(checkout) == {"skipped": 1}
    assert outcomes(checkout, "--rerun") == {"passed": 1}
    write(checkout.path / "workbench/thing.py", MODULE.replace("Twice x.", "Two times x.").replace("a comment", "another"))
    assert outcomes(checkout) == {"skipped": 1}
    write(checkout.path / "workbench/thing.py", MODULE.replace("2 * x", "3 * x"))
    assert outcomes(checkout) == {"passed": 1}
    write(checkout.path / "tests/test_thing.py", TEST.replace("0.875", "0.75"))
    assert outcomes(checkout) == {"passed": 1}


def test_the_record_says_what_was_found_where(checkout: pytest.Pytester) -> None:
    outcomes(checkout)
    kept = json.loads((checkout.path / slow_tier.RECORDS).read_text())
    record = kept["records"]["tests/test_thing.py::test_full_size"]
    assert kept["counts"] == {"passed": 1, "stands": 0, "skipped": 0, "failed": 0}
    assert set(record) == {"commit", "machine", "seconds", "figures", "digest"}
    assert record["figures"]["accuracy"] == 0.875
    document = (checkout.path / slow_tier.DOCUMENT).read_text()
    assert "| accuracy | 0.875 |" in document
    assert "| b |  |" in document
    assert f"{record['machine']['cores']} cores" in document


def test_a_test_that_fails_leaves_no_record_and_the_old_one_void(checkout: pytest.Pytester) -> None:
    write(checkout.path / "tests/test_thing.py", TEST + "    assert figures['accuracy'] > 0.9\n")
    assert outcomes(checkout) == {"failed": 1}
    kept = json.loads((checkout.path / slow_tier.RECORDS).read_text())
    assert kept == {"counts": {"passed": 0, "stands": 0, "skipped": 0, "failed": 1}, "records": {}}


def test_a_record_goes_with_its_test(checkout: pytest.Pytester) -> None:
    cases = (
        '\n@pytest.mark.slow(depends=["workbench/thing.py"])\n@pytest.mark.parametrize("size", [1, 2])\ndef test_sizes(size):\n    pass\n'
    )
    write(checkout.path / "tests/test_thing.py", TEST + cases)
    assert outcomes(checkout) == {"passed": 3}
    write(checkout.path / "tests/test_thing.py", TEST.replace("test_full_size", "test_whole_size") + cases)
    assert outcomes(checkout) == {"passed": 3}
    records = slow_tier.read_records(checkout.path)
    assert set(records) == {f"tests/test_thing.py::{name}" for name in ("test_whole_size", "test_sizes[1]", "test_sizes[2]")}
    assert "test_full_size" not in (checkout.path / slow_tier.DOCUMENT).read_text()


def test_what_a_file_means_is_the_same_on_every_version_of_python(tmp_path: Path) -> None:
    path = tmp_path / "thing.py"
    path.write_text("def shown(x):\n    return f'{x!r:>9} {{}}', None  # Python 3.12 writes it with other quotes\n")
    seen = hashlib.sha256(slow_tier.meaning(path)).hexdigest()
    assert seen == "1c7e26af38f5e3d757bb4f16e8557ba5127bd254201ae694a665c85a4f3d7781", "Python 3.11, 3.12 and 3.13 agree on it"


def test_a_dependency_that_does_not_exist_is_an_error(checkout: pytest.Pytester) -> None:
    write(checkout.path / "tests/test_thing.py", TEST.replace("workbench/thing.py", "workbench/nothing.py"))
    for arguments in ((), ("-m", "not slow")):
        result = checkout.runpytest_inprocess(*arguments)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*'workbench/nothing.py'. Mend its `depends`.*"])


def test_a_slow_test_without_dependencies_depends_on_the_part_it_mirrors(tmp_path: Path) -> None:
    write(tmp_path / "workbench/privacy/not_dp/pac.py", MODULE)
    assert slow_tier.mirrored(tmp_path, tmp_path / "tests/privacy/test_pac.py") == ["workbench/privacy/**"]
    assert slow_tier.mirrored(tmp_path, tmp_path / "tests/test_pac.py") == ["workbench/**"]
    assert slow_tier.mirrored(tmp_path, tmp_path / "tests/slow/test_pac.py") == ["workbench/**"]
    before = slow_tier.digest(tmp_path, ["workbench/privacy/**"])
    write(tmp_path / "workbench/privacy/deep/table.csv", "1,2\n")
    assert slow_tier.digest(tmp_path, ["workbench/privacy/**"]) != before


def test_a_file_that_is_left_out_does_not_count_and_must_be_there(checkout: pytest.Pytester) -> None:
    write(checkout.path / "workbench/example.py", "x = 1")
    both = TEST.replace('"workbench/thing.py"', '"workbench/*.py", "!workbench/example.py"')
    write(checkout.path / "tests/test_thing.py", both)
    assert outcomes(checkout) == {"passed": 1}
    write(checkout.path / "workbench/example.py", "x = 2")
    assert outcomes(checkout) == {"skipped": 1}
    write(checkout.path / "workbench/thing.py", MODULE.replace("2 * x", "3 * x"))
    assert outcomes(checkout) == {"passed": 1}
    write(checkout.path / "tests/test_thing.py", both.replace("!workbench/example.py", "!workbench/nothing.py"))
    assert checkout.runpytest_inprocess().ret == pytest.ExitCode.USAGE_ERROR


def test_figures_of_long_runs_stand_while_plans_and_short_run_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from support import long_runs

    kept = json.loads(json.dumps(long_runs.described("digits", "dp-merf")))
    assert len(kept["plans"]) == 2
    assert long_runs.are_the_same(kept, "digits", "dp-merf")
    assert not long_runs.are_the_same(kept | {"short_run": kept["short_run"] | {"weights": "0" * 16}}, "digits", "dp-merf")
    assert not long_runs.are_the_same(kept | {"arithmetic": "of another machine"}, "digits", "dp-merf")
    assert not long_runs.are_the_same(kept | {"plans": kept["plans"][:1]}, "digits", "dp-merf")
    other = [plan | {"config": plan["config"] | {"learning_rate": 0.02}} for plan in kept["plans"]]
    assert not long_runs.are_the_same(kept | {"plans": other}, "digits", "dp-merf")
    reworded = [plan | {"warnings": ["In other words."]} for plan in kept["plans"]]
    assert long_runs.are_the_same(kept | {"plans": reworded}, "digits", "dp-merf")


def test_the_short_run_notices_other_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    from digests import one_thread, trained
    from support.quick import quick_dataset, quick_plan

    from workbench.methods.dp_merf import training

    plan, dataset = quick_plan("dp-merf"), quick_dataset("dp-merf")
    with one_thread():
        before = trained(plan, dataset)[1]
        assert trained(plan, dataset)[1] == before
    usual = training.fourier_features
    monkeypatch.setattr(training, "fourier_features", lambda images, frequencies: usual(images, frequencies) * (1 + 1e-6))
    with one_thread():
        after = trained(plan, dataset)[1]
    assert before["weights"] != after["weights"]
    assert before["steps"] == after["steps"]


def test_a_record_stands_by_its_long_runs_where_the_files_have_changed(checkout: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    from support import long_runs

    same = [True]
    monkeypatch.setattr(long_runs, "described", lambda recipe, method: {"of": [recipe, method]})
    monkeypatch.setattr(long_runs, "are_the_same", lambda kept, recipe, method: kept == {"of": [recipe, method]} and same[0])
    write(checkout.path / "tests/test_thing.py", TEST.replace('thing.py"]', 'thing.py"], trains=("digits", "dp-merf")'))
    assert outcomes(checkout) == {"passed": 1}
    write(checkout.path / "workbench/thing.py", MODULE.replace("2 * x", "x + x"))
    assert outcomes(checkout) == {"skipped": 1}
    same[0] = False
    assert outcomes(checkout) == {"passed": 1}


def test_a_test_of_a_method_depends_on_its_folder_and_on_those_it_imports_from(checkout: pytest.Pytester) -> None:
    methods = checkout.path / "workbench/methods"
    source = {"one_a": "from workbench.methods.two import x", "two": "from workbench.methods import three", "three": "", "four": ""}
    for name, line in source.items():
        write(methods / name / "training.py", line)
    marker = '@pytest.mark.parametrize("method", ["one-a"])\n@pytest.mark.slow(depends=["workbench/methods/{method}/**"])'
    write(checkout.path / "tests/test_thing.py", f"import pytest\n\n{marker}\ndef test_a_method(method):\n    assert method\n")
    assert outcomes(checkout) == {"passed": 1}
    write(methods / "four/training.py", "x = 1")
    assert outcomes(checkout) == {"skipped": 1}
    for changed in ("one_a", "two", "three"):
        write(methods / changed / "more.py", "x = 1")
        assert outcomes(checkout) == {"passed": 1}
