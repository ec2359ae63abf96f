"""Exports as no one writes them: an export of a run with one thing or several made wrong, by number."""

import io
import json
import random
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from workbench.runs.release.archive import CARD, CARD_TEXT, MANIFEST, PLAN, WEIGHTS, digest

Members = dict[str, bytes]
DEEPEST = 20
DOCUMENTS = (CARD, PLAN, MANIFEST)
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 10**9, 10**30, 10**400, 1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), 0.5, "", "inf", "nan",
    "\ud800", "\x00", "é" * 5000, "../../etc/passwd", [], {}, [[]], {"": None}, [None] * 3, {"type": "NonPrivateDpEvent"},
    {"type": "SelfComposedDpEvent", "event": {"type": "NoOpDpEvent"}, "count": -3},
)  # fmt: skip


def mutated(members: Mapping[str, bytes], number: int) -> bytes:
    """The content of a file: the export of `members` with what `number` says changed."""
    chance = random.Random(number)
    changed = dict(members)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        chance.choice((_document, _document, _document, _document, _bytes, _arrays, _weights))(changed, chance)
    if chance.random() < 0.7 and MANIFEST in changed:
        _renew_hashes(changed)
    return chance.choice((_zip, _zip, _zip, _zip, _zip, _broken_zip))(changed, chance)


def _document(members: Members, chance: random.Random) -> None:
    """One value of a JSON document taken out, doubled, or replaced by one of another kind; or the whole nested deep."""
    name = chance.choice([document for document in DOCUMENTS if document in members] or [CARD])
    try:
        document = json.loads(members[name])
    except (ValueError, KeyError, RecursionError):
        return
    if chance.random() < 0.05:
        depth = chance.choice((50, 500, 100_000))
        members[name] = b'{"a":' * depth + b"1" + b"}" * depth
        return
    place, key = chance.choice(list(_places(document)) or [({}, "")])
    action = chance.choice(("drop", "replace", "replace", "replace", "rename", "deep", "scale"))
    if action == "drop":
        place.pop(key)
    elif action == "rename" and isinstance(place, dict):
        place[f"{key}_"] = place.pop(key)
    elif action == "deep":
        place[key] = _nested(chance.choice((5, 200)), place[key])
    elif action == "scale" and isinstance(place[key], (int, float)):
        place[key] = place[key] * chance.choice((-1, 1000, 0.5, 1e300))
    else:
        place[key] = chance.choice(VALUES)
    members[name] = json.dumps(document).encode("utf-8", "surrogatepass")


def _nested(depth: int, value: Any) -> Any:
    for _ in range(depth):
        value = {"event": value, "type": "SelfComposedDpEvent", "count": 2}
    return value


def _places(document: Any, depth: int = 0) -> list[tuple[Any, Any]]:
    """Every place of a document down to `DEEPEST`: what holds it, and its key or position there."""
    keys = list(document) if isinstance(document, dict) else list(range(len(document))) if isinstance(document, list) else []
    inner = [place for key in keys for place in _places(document[key], depth + 1)] if depth < DEEPEST else []
    return [(document, key) for key in keys] + inner


def _bytes(members: Members, chance: random.Random) -> None:
    """A member cut short, emptied, doubled, in another encoding, with bits turned, or taken out."""
    name = chance.choice(list(members))
    content = bytearray(members[name])
    action = chance.choice(("cut", "empty", "double", "encode", "bits", "drop"))
    if action == "drop":
        del members[name]
        return
    if action == "bits" and content:
        for _ in range(chance.choice((1, 20))):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    encoded = bytes(content).decode(errors="replace").encode("utf-16")
    shapes = {"cut": content[: chance.randrange(len(content) + 1)], "empty": b"", "double": content * 2, "encode": encoded, "bits": content}
    members[name] = bytes(shapes[action])


def _arrays(members: Members, chance: random.Random) -> None:
    """One array of the samples taken out, of another type or shape, or of objects; or one too many."""
    name = next((name for name in members if name.startswith("samples/")), None)
    try:
        arrays = dict(np.load(io.BytesIO(members[name or ""]), allow_pickle=False))
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error):
        return
    key = chance.choice(list(arrays))
    shapes: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
        lambda array: array.astype("U20"),
        lambda array: array.ravel()[:1],
        lambda array: array[None],
        lambda array: np.array([{}], dtype=object),
        lambda array: np.full(array.shape, np.nan),
        lambda array: np.zeros((0,)),
        lambda array: np.full(array.shape, -(2**62)),
        lambda array: np.zeros(2, dtype=[("a", "<i4"), ("b", "<f8")]),
        lambda array: np.array("{" * 3000),
        lambda array: np.array('{"bound": {"epsilon": "x"}, "request": []}'),
    )
    if chance.random() < 0.2:
        del arrays[key]
    else:
        arrays[chance.choice((key, key, f"{key}_"))] = chance.choice(shapes)(arrays[key])
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    members[name or ""] = content.getvalue()


def _weights(members: Members, chance: random.Random) -> None:
    """The header of the weights with a value of another kind, or another length."""
    content = members.get(WEIGHTS, b"")
    length = int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8 : 8 + length])
    except (ValueError, RecursionError):
        return
    if chance.random() < 0.2:
        members[WEIGHTS] = chance.choice((0, 1, 2**40, 2**63)).to_bytes(8, "little") + content[8:]
        return
    place, key = chance.choice(list(_places(header)))
    place[key] = chance.choice(VALUES)
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    members[WEIGHTS] = len(text).to_bytes(8, "little") + text + content[8 + length :]


def _renew_hashes(members: Members) -> None:
    try:
        manifest = json.loads(members[MANIFEST])
        manifest["files"] = {name: digest(content) for name, content in members.items() if name != MANIFEST}
    except (ValueError, TypeError, RecursionError):
        return
    members[MANIFEST] = json.dumps(manifest).encode("utf-8", "surrogatepass")


def _zip(members: Members, chance: random.Random) -> bytes:
    """An archive, once in a while with a member of another name, packed otherwise, or twice."""
    content, odd = io.BytesIO(), chance.random() < 0.1
    with zipfile.ZipFile(content, "w", chance.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
        if odd:
            method = chance.choice((zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED))
            archive.writestr(
                chance.choice((CARD_TEXT + "/", "samples/\ud7ff.npz", "C:\\card.json", "samples/00000000.npz")), b"0" * 10, method
            )
    return content.getvalue()


def _broken_zip(members: Members, chance: random.Random) -> bytes:
    """An archive cut short, with turned bits, or with sizes in its directory that are not its members'."""
    content = bytearray(_zip(members, chance))
    directory = content.rfind(b"PK\x01\x02")
    action = chance.choice(("cut", "bits", "sizes"))
    if action == "cut":
        return bytes(content[: chance.randrange(len(content))])
    if action == "sizes" and directory >= 0:
        at = directory + chance.choice((8, 10, 20, 24, 28, 30, 34, 38, 42))
        content[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\x01\0\0\0"))
        return bytes(content)
    for _ in range(chance.choice((1, 5, 50))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return bytes(content)
