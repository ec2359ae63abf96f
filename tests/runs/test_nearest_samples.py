"""The search for the samples nearest to each record: a job whose result is kept beside the samples, and is not exported."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.homes import here
from support.launchers import Here

from workbench import tasks
from workbench.cli import main
from workbench.datasets import load
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.jobs.launchers import LAUNCHERS
from workbench.runs.nearest_samples import KEPT, kept_nearest_samples, nearest_samples_run
from workbench.runs.release.export import STAYS
from workbench.runs.samples import sample_set
from workbench.runs.samples.imported import import_samples


@pytest.fixture
def imported(tmp_path: Path) -> str:
    """Thirty held-out digits as if somebody had generated them."""
    images = load("digits").held_out.records[:30]
    np.savez(tmp_path / "samples.npz", images=images.transpose(0, 2, 3, 1), labels=np.arange(30) % 10)
    return import_samples(here(), tmp_path / "samples.npz", DatasetRef(name="digits")).owner


def test_a_job_searches_once_and_keeps_what_it_found(imported: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    assert kept_nearest_samples(here(), imported, "pixels", 30) is None
    tasks.begin(here(), "nearest-samples", imported, {})
    nearest = kept_nearest_samples(here(), imported, "pixels", 30)
    assert nearest is not None
    assert nearest.held_out_indices[:30, 0].tolist() == list(range(30))
    assert (nearest.held_out_distances[:30, 0] == 0).all()
    assert nearest.indices.shape == (len(load("digits").train), KEPT)
    monkeypatch.setattr("workbench.evaluation.nearest_samples.find_nearest_samples", lambda *_: pytest.fail("it was searched again"))
    assert nearest_samples_run(here(), imported).distances.tolist() == nearest.distances.tolist()


def test_an_export_leaves_it_where_it_is(imported: str) -> None:
    name = sample_set(here(), imported).nearest_samples("pixels", 30).name
    assert any(name.startswith(kind) for kind in STAYS)


def test_unknown_features_and_a_field_of_another_search_are_refused(imported: str) -> None:
    for request, words in (({"features": "smell"}, "Unknown feature space"), ({"attribute": "smile"}, "attribute")):
        with pytest.raises(WorkbenchError, match=words):
            tasks.begin(here(), "nearest-samples", imported, request)


def test_a_command_finds_the_record_that_a_picture_is(imported: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "me.png"
    Image.fromarray(load("digits").train.records[40, 0]).save(picture)

    def find(*arguments: str) -> tuple[object, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(("find", imported, *arguments))
        output = capsys.readouterr()
        return ended.value.code, output.out + output.err

    code, printed = find("--picture", str(picture), "--json")
    assert code == 0
    assert json.loads(printed.partition("\nWarning")[0])["nearest"][0] == {"side": "training", "record": 40, "distance": 0.0}
    assert "No bound covers it" in printed
    assert find("--known", "age=36") == (2, "Expected rows of a table to look for what is known, got images. Give a picture.\n")
    assert find() == (2, "Expected either --picture or --known, got neither.\n")
    assert find("--picture", "nowhere.png")[0] == 2


def test_a_command_tells_of_one_record(imported: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Here())

    def record(*arguments: str) -> tuple[object, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(("record", imported, *arguments))
        output = capsys.readouterr()
        return ended.value.code, output.out + output.err

    code, printed = record("3", "--held-out", "--json")
    assert code == 0
    values = json.loads(printed[printed.index("{") :].partition("\nWarning")[0])
    assert values["nearest"][0] == {"sample": 3, "distance": 0.0}
    assert len(values["nearest"]) == KEPT
    assert values["nearer_than_share_of_held_out"] > 0.9, "held-out records that were copied too are as near"
    assert "by chance" in printed
    nearest = kept_nearest_samples(here(), imported, "pixels", 30)
    assert nearest is not None
    code, printed = record("0")
    assert code == 0
    assert "training_record" in printed
    assert str(int(nearest.indices[0, 0])) in printed
    assert record("1500") == (2, "Expected a training record from 0 to 1499, got 1500.\n")
    code, printed = record("0", "--device", "cuda:7")
    assert code != 0
    assert "Device 'cuda:7' was asked for" in printed, "the search is where it is asked for"
