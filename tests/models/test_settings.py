"""What a diffusion model's settings refuse before anything is spent."""

import pytest
from support.quick import quick_plan

from workbench.errors import WorkbenchError


@pytest.mark.parametrize("method", ["nonprivate", "dp-promise"])
def test_a_network_of_patches_is_planned_or_refused(method: str) -> None:
    assert quick_plan(method, overrides={"network.patch_size": 2}).config["network"]["patch_size"] == 2
    with pytest.raises(WorkbenchError, match=r"patches of 3x3 pixels fill, got 8x8"):
        quick_plan(method, overrides={"network.patch_size": 3})
