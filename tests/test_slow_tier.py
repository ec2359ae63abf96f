"""The slow tier's records: when they stand, when they do not, and how they read."""

import json
from pathlib import Path

import pytest
from support import slow_tier

from workbench.training import checkpoints  # noqa: F401 - pytester forgets what its own runs import, and numpy is imported only once

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


def test_a_dependency_that_does_not_exist_is_an_error(checkout: pytest.Pytester) -> None:
    write(checkout.path / "tests/test_thing.py", TEST.replace("workbench/thing.py", "workbench/nothing.py"))
    result = checkout.runpytest_inprocess()
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*'workbench/nothing.py'. Mend its `depends`.*"])


def test_a_slow_test_without_dependencies_depends_on_the_part_it_mirrors(tmp_path: Path) -> None:
    write(tmp_path / "workbench/privacy/not_dp/pac.py", MODULE)
    assert slow_tier.mirrored(tmp_path, tmp_path / "tests/privacy/test_pac.py") == ["workbench/privacy/**"]
    assert slow_tier.mirrored(tmp_path, tmp_path / "tests/test_pac.py") == ["workbench/**"]
    assert slow_tier.mirrored(tmp_path, tmp_path / "tests/slow/test_pac.py") == ["workbench/**"]
    before = slow_tier.digest(tmp_path, ["workbench/privacy/**"])
    write(tmp_path / "workbench/privacy/deep/table.csv", "1,2\n")
    assert slow_tier.digest(tmp_path, ["workbench/privacy/**"]) != before
