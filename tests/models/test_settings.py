"""What a diffusion model's settings refuse before anything is spent."""

import pytest
from support.quick import quick_plan

from workbench.diffusion import DiffusionConfig
from workbench.errors import WorkbenchError
from workbench.methods import METHODS

OF_STEPS = [name for name, method in METHODS.items() if isinstance(getattr(method.Config(), "diffusion", None), DiffusionConfig)]


@pytest.mark.parametrize("method", ["nonprivate", "dp-promise"])
def test_a_network_of_patches_is_planned_or_refused(method: str) -> None:
    assert quick_plan(method, overrides={"network.patch_size": 2}).config["network"]["patch_size"] == 2
    with pytest.raises(WorkbenchError, match=r"patches of 3x3 pixels fill, got 8x8"):
        quick_plan(method, overrides={"network.patch_size": 3})


@pytest.mark.parametrize("method", OF_STEPS)
def test_a_process_that_leaves_the_record_is_refused_with_the_plan(method: str) -> None:
    with pytest.raises(WorkbenchError, match="Expected a schedule that ends in noise"):
        quick_plan(method, overrides={"diffusion.schedule": "linear", "diffusion.timesteps": 100})
