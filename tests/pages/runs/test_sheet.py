"""The contact sheet of compared runs on the Runs page: originals first unless they are left out, the mark, the files, what is refused."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from pages.reading import text_of
from PIL import Image
from streamlit.testing.v1 import AppTest
from support.homes import here

from workbench.runs.contact_sheet import PRIVATE
from workbench.runs.method_sheet import ORIGINALS
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.ui.runs import run_label

OpenPage = Callable[..., AppTest]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes | str]:
    """What the buttons for files would write, by the file's name, of the page that was drawn last."""
    files: dict[str, bytes | str] = {}

    def download(_label: str, data: Any, name: str, *_: object, **__: object) -> None:
        if name.startswith("methods."):
            files[name] = data()

    monkeypatch.setattr("workbench.pages.runs.sheet.st.download_button", download)
    return files


def described(app: AppTest) -> list[str]:
    """The alternative texts of the contact sheets on the page."""
    texts = [image.alt for element in app.get("image") for image in element.proto.imgs]
    return [text for text in texts if text.startswith("Contact sheet")]


def test_two_runs_stand_in_a_sheet_with_originals_first_which_is_private(open_page: OpenPage, made: dict[str, bytes | str]) -> None:
    app = open_page("runs", runs_chosen=[run.id for run in RunStore(here()).list()])
    (alt,) = described(app)
    assert f"a row each for {ORIGINALS}, dp-merf; a column each for epsilon 1, epsilon 10" in alt
    assert PRIVATE in text_of(app)
    page = str(made["methods.html"], "utf-8")  # type: ignore[arg-type]
    assert "Private: do not share this sheet." in page
    assert f'alt="{alt}"' in page
    assert "default-src 'none'" in page
    assert Image.open(io.BytesIO(made["methods.png"])).text["mark"] == "private"  # type: ignore[arg-type, attr-defined]


def test_without_originals_the_sheet_of_runs_that_may_be_released_is_releasable(
    open_page: OpenPage, made: dict[str, bytes | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.pages.runs.sheet.loaded_for", lambda _: pytest.fail("no record is to be read"))
    chosen = [run_label(run) for run in RunStore(here()).list()]
    app = open_page("runs", runs_chosen=chosen, runs_originals="false")
    assert ORIGINALS not in described(app)[0]
    assert PRIVATE not in text_of(app)
    assert ":green-badge[" in text_of(app)
    assert "Releasable: it shows samples alone" in str(made["methods.html"], "utf-8")  # type: ignore[arg-type]
    RunStore(here()).change(RunStore(here()).list()[0].id, {"done"}, "changed", releasable=False, seed=1)
    app = open_page("runs", runs_chosen=chosen, runs_originals="false")
    assert "is private. The run is seeded" in text_of(app)
    assert Image.open(io.BytesIO(made["methods.png"])).text["mark"] == "private"  # type: ignore[arg-type, attr-defined]


def test_runs_of_other_images_are_told_and_a_run_without_samples_is_left_out(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = RunStore(here()).list()
    sample_set(here(), runs[0].id).file.unlink()
    app = open_page("runs", runs_chosen=[run.id for run in runs])
    assert f"Not in the sheet, as they have no samples: {runs[0].id}." in text_of(app)
    assert "a column each for epsilon 10" in described(app)[0]
    RunStore(here()).change(runs[0].id, {"done"}, "changed", fingerprint="another")
    app = open_page("runs", runs_chosen=[run.id for run in runs])
    assert "runs of digits whose records differ" in text_of(app)
    assert not described(app)


def test_the_checkbox_leaves_originals_out(open_page: OpenPage) -> None:
    app = open_page("runs", runs_chosen=[run.id for run in RunStore(here()).list()])
    assert app.checkbox(key="runs_originals").value
    app.checkbox(key="runs_originals").uncheck().run()
    assert ORIGINALS not in described(app)[0]
