"""The names and classes of the user's own files: declared, public, and never a registered dataset's."""

import unicodedata
from collections.abc import Collection, Sequence
from pathlib import Path

from workbench.errors import WorkbenchError

LONGEST = 80


def check_words(words: Sequence[str], what: str) -> tuple[str, ...]:
    """Return `words` if each is a short printable text without blanks around it, and none comes twice."""
    for word in words:
        if not word or word != word.strip() or len(word) > LONGEST or any(unicodedata.category(letter)[0] == "C" for letter in word):
            raise WorkbenchError(f"Expected {what} of 1 to {LONGEST} printable characters without blanks around them, got {word!r}.")
    if len(set(words)) < len(words):
        raise WorkbenchError(f"Expected {what} that differ, got {', '.join(words)}.")
    return tuple(words)


def composed_name(name: str) -> str:
    """A name with each letter and its accents as one character: file systems and keyboards differ, and an account is one."""
    return unicodedata.normalize("NFC", name)


def default_name(path: str | Path, registered: Collection[str]) -> str:
    """The name of a user's file or folder until one is given: its own, without .npz or .csv, and with `own-` before a registered one."""
    path = Path(path)
    name = composed_name(path.stem if path.suffix in (".npz", ".csv") else path.name)
    kept = "".join(letter for letter in name if unicodedata.category(letter)[0] != "C").strip()[:LONGEST].strip() or "images"
    return f"own-{kept}" if kept in registered else kept


def own_name(path: Path, given: str | None, registered: Collection[str]) -> str:
    """The name that the ledger's account of a user's file goes by: `given`, else the default; a registered one is refused."""
    if given is None:
        return default_name(path.resolve(), registered)
    given = composed_name(given)
    if given in registered:
        raise WorkbenchError(f"Expected a name of your own for {path}, got {given!r}, which is a registered dataset's. Give another.")
    return check_words([given], "names")[0]
