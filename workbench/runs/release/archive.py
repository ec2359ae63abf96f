"""The file of an export: one zip of few known names, read without unpacking a name or a byte that it should not have."""

import hashlib
import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workbench.datasets.arrays import read_header
from workbench.datasets.unpacking import check_unpacked
from workbench.errors import WorkbenchError
from workbench.files import written_atomically

CARD, CARD_TEXT, PLAN, WEIGHTS, MANIFEST = "card.json", "card.md", "plan.json", "weights.safetensors", "manifest.json"
SAMPLES = re.compile(r"samples/(default|[0-9a-f]{8})\.npz")
NEEDED = frozenset({CARD, CARD_TEXT, PLAN, WEIGHTS, MANIFEST})
MOST_MEMBERS = 1000
FORMAT = "dp-diffusion-workbench release 1"
EPOCH = (1980, 1, 1, 0, 0, 0)  # of every member: when an export was made is nobody's business
ENCRYPTED = 1  # among a member's flags
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
UNREADABLE = (
    zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ValueError, LookupError, TypeError, ArithmeticError, RuntimeError,
)  # fmt: skip


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def write_archive(path: Path, members: Mapping[str, bytes]) -> None:
    """Write the members in their order; equal members make equal files, and a reader sees the old file or the new one."""
    with written_atomically(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)


def read_archive(path: Path) -> tuple[bytes, dict[str, bytes]]:
    """The whole content of an export, and its members by name, in memory alone.

    Raises WorkbenchError for what is no export: an unknown, doubled or missing name, a link, a folder, what is encrypted or packed
    otherwise, and what unpacks to too much, before it is unpacked.
    """
    if not path.exists():
        raise WorkbenchError(f"Expected a file that `workbench export` wrote, and there is no file {path}.")
    if not path.is_file():
        raise WorkbenchError(f"Expected a file that `workbench export` wrote, got {path}.")
    try:
        content = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if complaint := _complaint(members):
                raise WorkbenchError(f"Expected a file that `workbench export` wrote, got {complaint} in {path}.")
            check_unpacked(path, len(content), sum(member.file_size for member in members))
            return content, {member.filename: archive.read(member) for member in members}
    except WorkbenchError:
        raise
    except UNREADABLE as error:
        raise WorkbenchError(f"Expected a file that `workbench export` wrote in {path}, got one that cannot be read ({error}).") from None


def packed_arrays(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Arrays as the content of an .npz; equal arrays make equal content."""
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def unpacked_arrays(content: bytes) -> dict[str, np.ndarray]:
    """The arrays of an .npz, in memory alone; refused before it is unpacked where one holds objects, or all are too much."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            check_unpacked(Path("the file"), len(content), sum(member.file_size for member in members))
            headers = [read_header(archive, member.filename) for member in members]
            if len({member.filename for member in members}) < len(members) or any(dtype.hasobject for _, dtype in headers):
                raise ValueError("an array twice, or one of objects")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except WorkbenchError:
        raise
    except UNREADABLE as error:
        raise WorkbenchError(f"Expected arrays, got a file that cannot be read ({error}).") from None


def _complaint(members: list[zipfile.ZipInfo]) -> str:
    """What no export has; empty if there is nothing."""
    names = [member.filename for member in members]
    if len(names) > MOST_MEMBERS:
        return f"{len(names)} members"
    if len(set(names)) < len(names):
        return "a name twice"
    for member in members:
        if member.orig_filename not in NEEDED and not SAMPLES.fullmatch(member.orig_filename):
            return f"the name {member.orig_filename[:100]!r}"
        if stat.S_ISLNK(member.external_attr >> 16) or member.is_dir():
            return f"a link or a folder, {member.filename},"
        if member.flag_bits & ENCRYPTED or member.compress_type not in COMPRESSIONS:
            return f"an encrypted or unusual member, {member.filename},"
    missing = sorted(NEEDED - set(names))
    return f"no {missing[0]}" if missing else ""
