"""DP diffusion workbench: learn, budget and audit differentially private diffusion models.

    dataset = workbench.load("digits")
    plan = workbench.make_plan("dp-promise", dataset.facts, epsilon=10)     # what will be released, at what cost
    state = workbench.new_state(plan)
    for step in workbench.fit(plan, dataset, state): ...                    # or launch(Workspace.default(), plan), in a process
    samples = workbench.sample(plan, state, 1500)
    results = workbench.evaluate(plan, state, dataset)

Names are loaded on first use: `import workbench` is quick, and `workbench.privacy` needs no torch.
"""

from typing import TYPE_CHECKING

from workbench.lazy import lazy_names

if TYPE_CHECKING:
    from workbench import privacy
    from workbench.datasets import DATASETS, Dataset, DatasetFacts
    from workbench.errors import WorkbenchError
    from workbench.evaluation import METRICS
    from workbench.experiment import evaluate, fit, load, new_state, sample
    from workbench.methods import METHODS
    from workbench.plan import Plan
    from workbench.planning import make_plan
    from workbench.records import Records
    from workbench.runs import launch
    from workbench.tasks.sweeping import sweep
    from workbench.workspace import Workspace

_NAMES = {
    "DATASETS": "datasets",
    "Dataset": "datasets",
    "DatasetFacts": "datasets",
    "METHODS": "methods",
    "METRICS": "evaluation",
    "Plan": "plan",
    "Records": "records",
    "WorkbenchError": "errors",
    "Workspace": "workspace",
    "evaluate": "experiment",
    "fit": "experiment",
    "launch": "runs",
    "load": "experiment",
    "make_plan": "planning",
    "new_state": "experiment",
    "sample": "experiment",
    "sweep": "tasks.sweeping",
}

__all__ = [
    "DATASETS",
    "METHODS",
    "METRICS",
    "Dataset",
    "DatasetFacts",
    "Plan",
    "Records",
    "WorkbenchError",
    "Workspace",
    "evaluate",
    "fit",
    "launch",
    "load",
    "make_plan",
    "new_state",
    "privacy",
    "sample",
    "sweep",
]

__getattr__, __dir__ = lazy_names(__name__, __all__, names=_NAMES, modules={"privacy": "privacy"})
