"""Links of documents, as GitHub reads them, become links of the site; a file of code becomes its name, and a missing target an error."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = r"^```.*?^```|`[^`\n]+`"
LINK = r"(?P<image>!?)\[(?P<text>(?:[^\[\]`]|`[^`]*`)*)\]\((?P<target>[^)\s]+)\)"
CODE_OR_LINK = re.compile(f"{CODE}|{LINK}", flags=re.MULTILINE | re.DOTALL)


class MissingTargetError(Exception):
    """A document links to what is not there."""


def rewritten(text: str, document: Path, page: Path, pages: Mapping[Path, Path]) -> str:
    """The text of `document` (its path below the root) with its links as they are seen from `page` (below the sources).

    `pages` maps files below the root to theirs below the sources. Blocks and spans of code stay as they are.
    """

    def replace(link: re.Match[str]) -> str:
        target, hash_sign, anchor = (link["target"] or "").partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return link[0]
        path = Path(os.path.normpath(document.parent / target))
        if not (ROOT / path).exists():
            raise MissingTargetError(f"{document} links to {target}, which does not exist.")
        if path in pages:
            return f"{link['image']}[{link['text']}]({os.path.relpath(pages[path], page.parent)}{hash_sign}{anchor})"
        shown = link["text"].strip("`")
        return f"`{path}`" if shown in (path.name, str(path)) else f"{link['text']} (`{path}`)"

    return CODE_OR_LINK.sub(replace, text)
