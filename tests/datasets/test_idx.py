"""IDX files: read, checked, downloaded once."""

import dataclasses
import gzip
import re
import struct
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from support.homes import here

from workbench import datasets
from workbench.datasets import idx
from workbench.errors import WorkbenchError

IdxBytes = Callable[[np.ndarray], bytes]
WriteFamily = Callable[..., dict[str, str]]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty `WORKBENCH_DATA`."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("WORKBENCH_DATA", str(folder))
    return folder


class Mirror(ThreadingHTTPServer):
    """Serves a folder on the loopback and remembers what was asked for."""

    def __init__(self, folder: Path) -> None:
        self.paths: list[str] = []
        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.paths.append(self.path)  # type: ignore[attr-defined]
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    folder = tmp_path / "mirror"
    folder.mkdir()
    server = Mirror(folder)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("where", ["mnist", "MNIST/raw"])
def test_reads_what_was_written(data: Path, compress: bool, where: str, write_family: WriteFamily) -> None:
    write_family(data / where, compress=compress)
    dataset = datasets.load("mnist")
    expected = np.random.default_rng(0).integers(256, size=(30, 6, 6))
    np.testing.assert_array_equal(dataset.train.records[:, 0], expected)
    np.testing.assert_array_equal(dataset.train.labels, np.arange(30) % 10)
    assert dataset.train.records.dtype == np.uint8
    assert (len(dataset.held_out), dataset.facts.shape, dataset.facts.num_records) == (10, (1, 6, 6), 30)
    assert datasets.facts("mnist") == dataset.facts


def test_the_data_folder_itself_must_bear_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_family: WriteFamily) -> None:
    write_family(tmp_path / "mnist")
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path / "mnist"))
    assert datasets.DATASETS["mnist"].is_local(here())
    assert not datasets.DATASETS["fashion-mnist"].is_local(here())


def test_facts_read_headers_only(data: Path, idx_bytes: IdxBytes) -> None:
    (data / "mnist").mkdir()
    (data / "mnist" / "train-images-idx3-ubyte").write_bytes(idx_bytes(np.zeros((7, 5, 4)))[:16])
    facts = datasets.facts("mnist")
    assert (facts.num_records, facts.shape) == (7, (1, 5, 4))


def test_facts_without_files_are_the_published_ones(data: Path) -> None:
    facts = datasets.facts("fashion-mnist")
    assert (facts.num_records, facts.shape, facts.num_classes) == (60_000, (1, 28, 28), 10)
    assert not list(data.iterdir())


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("train-images-idx3-ubyte", lambda idx: idx(np.zeros((30, 36))), "magic number 2051 in .* got 2050"),
        ("train-images-idx3-ubyte", lambda _: b"\x00\x00", "whole header .* got 2 bytes"),
        ("train-images-idx3-ubyte", lambda idx: idx(np.zeros((30, 6, 6)))[:-1], "Expected 1080 values .* got 1079"),
        ("train-images-idx3-ubyte", lambda idx: idx(np.zeros((30, 6, 6))) + b"1", "Expected 1080 values .* got 1081"),
        ("train-labels-idx1-ubyte", lambda idx: idx(np.zeros(29)), "as many labels as images .* got 29 and 30"),
        ("train-labels-idx1-ubyte", lambda idx: idx(np.full(30, 10)), "Expected labels 0 to 9 .* got 10"),
        ("t10k-images-idx3-ubyte", lambda idx: idx(np.zeros((10, 5, 6))), "held-out images of"),
    ],
)
def test_damaged_files_are_refused(
    data: Path, idx_bytes: IdxBytes, write_family: WriteFamily, name: str, content: Callable[[IdxBytes], bytes], sentence: str
) -> None:
    write_family(data / "mnist", compress=False)
    (data / "mnist" / name).write_bytes(content(idx_bytes))
    with pytest.raises(WorkbenchError, match=sentence):
        datasets.load("mnist")


@pytest.mark.parametrize("read", [datasets.load, datasets.facts])
def test_a_file_that_is_not_gzip_is_refused(data: Path, read: object, write_family: WriteFamily) -> None:
    write_family(data / "mnist")
    (data / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(b"<html>not here</html>")
    with pytest.raises(WorkbenchError, match="whole gzip file"):
        read("mnist")  # type: ignore[operator]


def test_truncated_gzip_is_refused(data: Path, write_family: WriteFamily) -> None:
    write_family(data / "mnist")
    path = data / "mnist" / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(WorkbenchError, match="whole gzip file"):
        datasets.load("mnist")


@pytest.mark.parametrize("header", [2**30, 100])
def test_a_gzip_that_unpacks_to_too_much_is_refused(
    data: Path, write_family: WriteFamily, monkeypatch: pytest.MonkeyPatch, header: int
) -> None:
    """By what its header announces, and by what it holds: no more than one value over the announced number is read."""
    write_family(data / "mnist")
    content = struct.pack(">4i", 2051, header, 6, 6) + bytes(8 * 2**20)
    (data / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(content))
    monkeypatch.setenv("WORKBENCH_MAX_UNPACKED_MIB", "1")
    with pytest.raises(WorkbenchError, match="unpack to at most 1 MiB" if header > 100 else "Expected 3600 values .* got 3601 or more"):
        datasets.load("mnist")


def source(mirrors: tuple[str, ...], md5: dict[str, str]) -> idx.IdxSource:
    return dataclasses.replace(idx.MNIST, mirrors=mirrors, md5=md5)


def test_downloads_once_and_only_what_is_missing(
    data: Path, mirror: Mirror, tmp_path: Path, write_family: WriteFamily, idx_bytes: IdxBytes
) -> None:
    family = source((mirror.url,), write_family(tmp_path / "mirror"))
    (data / "mnist").mkdir()
    (data / "mnist" / "t10k-labels-idx1-ubyte").write_bytes(idx_bytes(np.arange(10)))
    assert len(idx.load(family, here()).train) == 30
    assert sorted(mirror.paths) == ["/t10k-images-idx3-ubyte.gz", "/train-images-idx3-ubyte.gz", "/train-labels-idx1-ubyte.gz"]
    idx.load(family, here())
    assert len(mirror.paths) == 3
    assert idx.is_local(family, here())


def test_next_mirror_after_a_wrong_checksum_or_a_missing_file(
    data: Path, mirror: Mirror, tmp_path: Path, write_family: WriteFamily
) -> None:
    good = write_family(tmp_path / "other")
    write_family(tmp_path / "mirror", seed=1)
    (tmp_path / "mirror" / "t10k-images-idx3-ubyte.gz").unlink()
    family = source((mirror.url, (tmp_path / "other").as_uri() + "/"), good)
    expected = np.random.default_rng(0).integers(256, size=(30, 6, 6))
    np.testing.assert_array_equal(idx.load(family, here()).train.records[:, 0], expected)


@pytest.mark.parametrize("damage", ["checksum", "truncated"])
def test_a_bad_download_leaves_nothing(data: Path, mirror: Mirror, tmp_path: Path, damage: str, write_family: WriteFamily) -> None:
    md5 = write_family(tmp_path / "mirror")
    path = tmp_path / "mirror" / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(b"other") if damage == "checksum" else path.read_bytes()[:-1])
    with pytest.raises(WorkbenchError, match=re.escape(md5[path.name])):
        idx.load(source((mirror.url,), md5), here())
    assert not list(data.rglob("*"))


class Abrupt(Handler):
    """Promises more bytes than it sends."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.wfile.write(b"beginning")


def test_a_connection_that_breaks_leaves_nothing(data: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Abrupt)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        with pytest.raises(WorkbenchError, match="connect to the network, or set WORKBENCH_DATA"):
            idx.load(source((f"http://127.0.0.1:{server.server_address[1]}/",), idx.MNIST.md5), here())
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert not list(data.rglob("*"))


def test_no_network_says_what_to_set(data: Path) -> None:
    with pytest.raises(WorkbenchError, match=r"set WORKBENCH_DATA to a folder in which mnist/train-images-idx3-ubyte\.gz lies"):
        idx.load(source(((data / "nowhere").as_uri() + "/",), idx.MNIST.md5), here())
    assert not list(data.rglob("*"))


def test_a_data_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path / "file"))
    with pytest.raises(WorkbenchError, match="set WORKBENCH_DATA to a folder that can be written"):
        idx.load(source((), idx.MNIST.md5), here())
