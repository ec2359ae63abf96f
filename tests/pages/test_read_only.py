"""Pages of a home in which nothing may be written: what only reads works, what writes says why not."""

from collections.abc import Callable

import pytest
from pages.reading import text_of
from streamlit.testing.v1 import AppTest
from support.homes import here

from workbench.runs.homes import set_read_only
from workbench.runs.store import RunStore


@pytest.mark.parametrize("page", ["runs", "gallery", "claims", "budget"])
def test_a_read_only_home_is_read_by_pages(page: str, open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(here().home.parent / "cache"))
    set_read_only(here(), closed=True)
    before = {path: path.stat().st_mtime_ns for path in here().home.rglob("*")}
    app = open_page(page)
    assert [error.value for error in app.error] == []
    if page == "runs":
        run = RunStore(here()).list()[0]
        assert run.id in text_of(app)
        app.button(key=f"runs_{run.id}_delete").click().run()
        assert "which is read-only" in app.error[0].value
    assert {path: path.stat().st_mtime_ns for path in here().home.rglob("*")} == before
