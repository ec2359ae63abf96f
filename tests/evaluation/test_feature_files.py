"""Features by a file: what goes into the network, what is taken for the standard one, and what is refused."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch
from support.homes import here
from torch import Tensor, nn

from workbench.datasets.base import Dataset, to_unit_range
from workbench.errors import WorkbenchError
from workbench.evaluation import context, evaluate, feature_files, feature_space
from workbench.evaluation.distances import frechet_distance, inception_style_score, kernel_distance
from workbench.evaluation.feature_files import feature_name
from workbench.pages.budget.utility import measure_title
from workbench.records import Records


class Halves(nn.Module):
    """The sums of both halves of an image."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1).reshape(x.shape[0], 2, -1).sum(2)


class Standard(nn.Module):
    """Called as the standard network is, with as many features."""

    def __init__(self, width: int = 2048) -> None:
        super().__init__()
        self.width = width

    def forward(self, images: Tensor, return_features: bool = False, no_output_bias: bool = False) -> Tensor:
        if no_output_bias:  # two classes: sure of one by the image's parity
            sure = images.flatten(1).long().sum(1) % 2
            return torch.stack([0.98 * sure + 0.01, 0.99 - 0.98 * sure], dim=1)
        assert return_features
        assert images.dtype == torch.uint8
        assert images.shape[1] == 3
        x = images.float().flatten(1)
        return torch.cat([x, torch.zeros(x.shape[0], self.width - x.shape[1])], dim=1)


class NoNumbers(nn.Module):
    """Features that are no numbers, or none at all."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, x: Tensor) -> Tensor:
        return torch.full((x.shape[0], self.width), torch.nan)


def scripted(module: nn.Module, path: Path) -> Path:
    torch.jit.script(module).save(str(path))
    return path


@pytest.mark.parametrize("suffix", [".pt", ".pt2"])
def test_a_file_s_network_gets_images_from_minus_one_to_one(
    suffix: str, tmp_path: Path, small_digits: Dataset, fresh: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"halves{suffix}"
    if suffix == ".pt":
        scripted(Halves(), path)
    else:
        any_number = {"x": {0: torch.export.Dim("n")}}
        torch.export.save(torch.export.export(Halves(), (torch.zeros(4, 1, 8, 8),), dynamic_shapes=any_number), path)
    name = feature_name(str(path))
    space = feature_space(name, small_digits, workspace=here())
    expected = to_unit_range(fresh.records).reshape(300, 2, -1).sum(2)
    np.testing.assert_allclose(space(fresh), expected, rtol=1e-5)
    assert space.label.startswith(f"file halves{suffix} (")
    measures = ["frechet_distance", "kernel_distance"]
    frechet, kernel = evaluate(fresh, small_digits, metrics=measures, features=name, workspace=here())
    held_out = space(small_digits.held_out)
    assert frechet.value == pytest.approx(frechet_distance(space(fresh), held_out))
    assert kernel.value == pytest.approx(kernel_distance(space(fresh), held_out))
    assert frechet.features == space.label
    assert "FID" not in frechet.note
    monkeypatch.setattr(context, "moments", lambda _: pytest.fail("the reference was taken again"))
    assert evaluate(fresh, small_digits, metrics=measures[:1], features=name, workspace=here())[0].value == frechet.value


def test_only_the_standard_network_s_distance_is_called_fid(
    tmp_path: Path, small_digits: Dataset, fresh: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network made here stands for the standard one, whose digest it takes for this test."""
    path, measures = scripted(Standard(), tmp_path / "renamed.pt"), ["frechet_distance_published"]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(feature_files, "INCEPTION_SHA256", digest)
    name = feature_name(str(path))
    space = feature_space(name, small_digits, workspace=here())
    assert not space.private
    np.testing.assert_array_equal(space(fresh)[:, :192], np.tile(fresh.records.reshape(300, -1), 3))
    result = evaluate(fresh.take(slice(40)), small_digits, metrics=measures, features=name, workspace=here())[0]
    assert result.features == f"Inception-v3 ({digest[:12]})"
    assert result.note.endswith("This is FID.")
    assert measure_title("frechet_distance", [result.features]) == f"FID ({result.features})"
    chosen = fresh.take(slice(40))
    (score,) = evaluate(chosen, small_digits, metrics=["inception_score"], features=name, workspace=here())
    assert score.note.startswith("This is the Inception Score: ten splits")
    parity = 3 * chosen.records.reshape(40, -1).astype(int).sum(1) % 2
    splits = [inception_style_score(np.stack([0.98 * part + 0.01, 0.99 - 0.98 * part], 1)) for part in np.array_split(parity, 10)]
    assert score.value == pytest.approx(np.mean(splits), rel=1e-5)
    assert measure_title("frechet_distance", ["pixels"]).startswith("Frechet distance (pixels")
    by_name_alone = feature_name(str(scripted(Halves(), tmp_path / "inception-2015-12-05.pt")))
    result = evaluate(fresh.take(slice(40)), small_digits, metrics=measures, features=by_name_alone, workspace=here())[0]
    assert "FID" not in result.note
    assert measure_title("frechet_distance", [result.features]).startswith("Frechet distance (file inception-2015-12-05.pt")
    path.write_bytes(path.read_bytes() + b"changed")
    with pytest.raises(WorkbenchError, match=f"Expected a file with the SHA-256 {digest}"):
        feature_space(name, small_digits, workspace=here())


def test_a_file_counts_as_made_from_private_records_unless_the_user_says_that_it_is_not(
    tmp_path: Path, small_digits: Dataset, fresh: Records
) -> None:
    path = str(scripted(Halves(), tmp_path / "halves.pt"))
    features = {}
    for public in (False, True):
        name = feature_name(path, public=public)
        space = feature_space(name, small_digits, workspace=here())
        assert space.private is not public
        result = evaluate(fresh, small_digits, metrics=["nearer_to_training"], features=name, workspace=here())[0]
        features[public] = result.features
    assert features[False] == feature_space("pixels", small_digits, workspace=here()).label  # training records may have made the others
    assert features[True].endswith("public by the user's word)")


def test_what_is_no_network_is_refused_in_words(tmp_path: Path, small_digits: Dataset, fresh: Records, table: Dataset) -> None:
    (tmp_path / "text.pt").write_text("no network")
    (tmp_path / "text.pt2").write_text("no network")
    for name, message in (
        (str(tmp_path / "gone.pt"), "found no file"),
        (str(tmp_path / "text.pt"), "Expected a network in TorchScript form"),
        (str(tmp_path / "text.pt2"), "Expected an ExportedProgram in"),
        ("classifer", "Unknown feature space 'classifer'"),
    ):
        with pytest.raises(WorkbenchError, match=message):
            feature_space(feature_name(name), small_digits, workspace=here())
    with pytest.raises(WorkbenchError, match="Expected --features with the file that is public"):
        feature_name("pixels", public=True)
    for width, came in ((3, "got some that are infinite or no numbers"), (0, "got none")):
        space = feature_space(feature_name(str(scripted(NoNumbers(width), tmp_path / f"{width}.pt"))), small_digits, workspace=here())
        with pytest.raises(WorkbenchError, match=f"features that are finite numbers from the file {width}.*{came}"):
            space(fresh)
    halves = feature_name(str(scripted(Halves(), tmp_path / "halves.pt")))
    with pytest.raises(WorkbenchError, match="got table"):
        feature_space(halves, table, workspace=here())
    with pytest.raises(WorkbenchError, match="it says"):
        feature_space(halves, small_digits, workspace=here())(Records(np.zeros((3, 1, 3, 3), np.uint8)))


def test_the_statistics_of_other_records_are_others(tmp_path: Path, small_digits: Dataset, fresh: Records) -> None:
    fewer = Dataset(small_digits.facts, small_digits.train, small_digits.held_out.take(slice(100)))
    values = {
        evaluate(fresh, side, metrics=["frechet_distance"], features="pixels", workspace=here())[0].value for side in (small_digits, fewer)
    }
    assert len(values) == 2
    assert len(list((here().cache / "evaluation").glob("*.pt"))) == 2
