"""Step 2 of the flow: one folder = one paper = one Config and one class. Adding a method is a folder and a line here."""

from workbench.methods.base import Method
from workbench.methods.dp_diffusion import DPDiffusion
from workbench.methods.dp_merf import DPMERF
from workbench.methods.dp_promise import DPPromise
from workbench.methods.nonprivate import NonPrivate

METHODS: dict[str, type[Method]] = {
    "nonprivate": NonPrivate,
    "dp-merf": DPMERF,
    "dp-promise": DPPromise,
    "dp-diffusion": DPDiffusion,
}
