"""Public drawings, once a session: equal names, numbers, shapes and seeds give equal images, and each test has its own home.

Workers of one session share them by files. The slow tier, which measures how long a first run takes, draws each anew.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workbench.files import make_private_folder
from workbench.records import Records


@pytest.fixture(scope="session", autouse=True)
def drawings_drawn_once(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have homes begin with what another test's home has drawn, as soon as it is asked for."""
    if request.config.getoption("markexpr") != "not slow":
        yield
        return
    from workbench.datasets import drawings, faces, glyphs, processes

    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "drawings"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        for module in (faces, glyphs, processes):
            patch.setattr(module, "cached_records", shared(drawings.cached_records, folder))
        yield


def shared(cached_records: Callable[[Path, Callable[[], Records]], Records], folder: Path) -> Callable[..., Records]:
    """The cache of a home, which looks in a folder of all homes before it draws."""

    def shared_records(path: Path, draw: Callable[[], Records]) -> Records:
        kept, is_new = folder / path.name, not path.exists()
        if is_new and kept.exists():
            make_private_folder(path.parent)
            shutil.copyfile(kept, path)
            path.chmod(0o600)
        records = cached_records(path, draw)
        if is_new and not kept.exists():
            partial = kept.with_suffix(f".{os.getpid()}")
            shutil.copyfile(path, partial)
            partial.replace(kept)
        return records

    return shared_records
