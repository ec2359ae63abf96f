"""Streamlit's search for components among all installed packages, once a session: `AppTest.run` repeats it, a third of a page's test."""

from collections.abc import Iterator
from functools import cache

import pytest


@pytest.fixture(scope="session", autouse=True)
def components_scanned_once() -> Iterator[None]:
    """What is installed does not change while tests run."""
    from streamlit.components.v2 import manifest_scanner

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield
