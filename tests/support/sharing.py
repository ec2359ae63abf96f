"""How workers share the tests: a file each, and all that needs a browser to one of them."""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

BROWSER = "tests/browser/"


class BrowserTogether(LoadFileScheduling):
    """One browser and one app, beside workers that compute: three of each at once would keep one another waiting."""

    def _split_scope(self, nodeid: str) -> str:
        return BROWSER if nodeid.startswith(BROWSER) else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> BrowserTogether | None:
    """For `--dist loadfile`; other ways stay as they are."""
    return BrowserTogether(config, log) if config.getvalue("dist") == "loadfile" else None
