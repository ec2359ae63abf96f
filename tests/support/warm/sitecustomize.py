"""On the path of processes that tests start: they ask `warm_workers` for their workers."""

import importlib.util
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

LAUNCHER = "workbench.jobs.launchers.local"


class Patched(MetaPathFinder):
    """Finds the local launcher, and has it start workers by a fork once it has been imported."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Of that module alone."""
        del path, target
        if fullname != LAUNCHER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        assert spec is not None
        assert spec.loader is not None
        execute = spec.loader.exec_module

        def execute_and_patch(module: ModuleType) -> None:
            execute(module)
            sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))
            module.start_apart = importlib.import_module("warm_workers").start_apart  # type: ignore[attr-defined]
            sys.path.pop(0)

        spec.loader.exec_module = execute_and_patch
        return spec


if "WORKBENCH_TEST_WORKERS" in os.environ:
    sys.meta_path.insert(0, Patched())
