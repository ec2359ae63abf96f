"""The workspace of the test at work, which `tests/conftest.py` puts in a folder of its own."""

from workbench.workspace import Workspace


def here() -> Workspace:
    """The default workspace, as pages and the command line ask for it."""
    return Workspace.default()
