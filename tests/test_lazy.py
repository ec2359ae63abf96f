"""Names that are loaded on first use."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

import workbench
from workbench import networks, privacy
from workbench.lazy import lazy_names


def test_a_name_loads_its_own_module_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "late"
    package.mkdir()
    for name, text in {"__init__": "", "one": "first = 1", "two": "second = 2", "three": "third = 3"}.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    load, listed = lazy_names("late", ["first", "second", "last"], names={"first": "one", "second": "two"}, modules={"last": "three"})
    assert listed() == ["first", "second", "last"]
    assert load("first") == 1
    assert not {"late.two", "late.three"} & sys.modules.keys()
    assert load("last").third == 3
    assert "late.two" not in sys.modules
    with pytest.raises(AttributeError, match=r"^module 'late' has no attribute 'third'$"):
        load("third")


@pytest.mark.parametrize("package", [workbench, privacy, networks])
def test_every_public_name_of_a_package_is_there(package: ModuleType) -> None:
    assert dir(package) == sorted(package.__all__)
    assert all(getattr(package, name) is not None for name in package.__all__)
