"""The names of `import workbench`."""

import pytest

import workbench


@pytest.mark.parametrize("name", workbench.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(workbench, name) is not None
