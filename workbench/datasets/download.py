"""Files fetched once: mirrors in order, a checksum, a progress bar, and a file that is whole or absent."""

import hashlib
import http.client
import os
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tqdm import tqdm

from workbench.errors import WorkbenchError

CHUNK = 1 << 16
TIMEOUT = 30  # seconds without a byte


def copy_with_progress(response: IO[bytes], file: IO[bytes], name: str, total: int | None) -> str:
    """Copy to the end with a progress bar on standard error; the MD5 of what was copied."""
    digest = hashlib.md5(usedforsecurity=False)
    with tqdm(total=total, unit="B", unit_scale=True, desc=name) as bar:
        while chunk := response.read(CHUNK):
            file.write(chunk)
            digest.update(chunk)
            bar.update(len(chunk))
    return digest.hexdigest()


def fetch_from(url: str, md5: str, target: Path) -> str | None:
    """Fetch one address to `target`; None when it worked, otherwise why it did not, and nothing is left behind."""
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file, urllib.request.urlopen(url, timeout=TIMEOUT) as response:
            length = response.headers.get("Content-Length")
            came = copy_with_progress(response, file, target.name, int(length) if length else None)
        if came != md5:
            return f"{url}: MD5 {came}, not {md5}"
        os.replace(temporary, target)
        return None
    except (OSError, http.client.HTTPException) as error:
        return f"{url}: {error}"
    finally:
        Path(temporary).unlink(missing_ok=True)


def fetch(mirrors: Sequence[str], name: str, md5: str, folder: Path) -> Path:
    """The file `name` in `folder`, from the first mirror whose copy has the published MD5.

    Files already there are kept, so a broken download goes on with the files that are missing.
    """
    target = folder / name
    if target.is_file():
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        reasons = []
        for mirror in mirrors:
            reason = fetch_from(mirror + name, md5, target)
            if reason is None:
                return target
            reasons.append(reason)
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
