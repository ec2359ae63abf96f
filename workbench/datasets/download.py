"""Files fetched once: mirrors in order, a checksum, a progress bar, and a file that is whole or absent."""

import hashlib
import http.client
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tqdm import tqdm

from workbench.errors import WorkbenchError
from workbench.files import written_atomically

CHUNK = 1 << 16
TIMEOUT = 30  # seconds without a byte


class DownloadError(Exception):
    """Why a mirror did not give a file."""


def copy_with_progress(response: IO[bytes], file: IO[bytes], name: str, total: int | None) -> str:
    """Copy to the end with a progress bar on standard error; the MD5 of what was copied."""
    digest = hashlib.md5(usedforsecurity=False)
    with tqdm(total=total, unit="B", unit_scale=True, desc=name) as bar:
        while chunk := response.read(CHUNK):
            file.write(chunk)
            digest.update(chunk)
            bar.update(len(chunk))
    return digest.hexdigest()


def download(url: str, md5: str, name: str, file: IO[bytes]) -> None:
    """Copy what lies at an address to `file`; raises DownloadError where it does not come whole, or is not what was published."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as response:
            length = response.headers.get("Content-Length")
            came = copy_with_progress(response, file, name, int(length) if length else None)
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"{url}: {error}") from error
    if came != md5:
        raise DownloadError(f"{url}: MD5 {came}, not {md5}")


def fetch(mirrors: Sequence[str], name: str, md5: str, folder: Path) -> Path:
    """The file `name` in `folder`, from the first mirror whose copy has the published MD5.

    Files already there are kept, so a broken download goes on with the files that are missing.
    """
    target = folder / name
    if target.is_file():
        return target
    reasons: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for mirror in mirrors:
            try:
                with written_atomically(target, "wb") as file:
                    download(mirror + name, md5, name, file)
                return target
            except DownloadError as error:
                reasons.append(str(error))
        if not any(folder.iterdir()):
            folder.rmdir()
    except OSError as error:
        raise WorkbenchError(
            f"Expected a folder to download {name} to, got {error}; set WORKBENCH_DATA to a folder that can be written."
        ) from error
    raise WorkbenchError(
        f"Expected {name} in {folder} or from a mirror, got neither ({'; '.join(reasons)}); "
        f"connect to the network, or set WORKBENCH_DATA to a folder in which {folder.name}/{name} lies."
    )
