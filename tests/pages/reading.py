"""What a test reads of a page: its words, and its elements by kind."""

import re
from collections.abc import Iterator
from typing import Any

from streamlit.testing.v1 import AppTest


def text_of(app: AppTest) -> str:
    """All words on the page."""
    kinds = (app.title, app.header, app.markdown, app.caption, app.warning, app.error, app.info)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def groups(app: AppTest) -> list[Any]:
    """The segmented controls and other groups of buttons, for which the library has no type."""
    return list(app.get("button_group"))


def pictures(app: AppTest) -> list[tuple[str, str]]:
    """Content and description of every picture on a card of the Gallery."""
    cards = "".join(element.proto.body for element in app.get("html"))
    return re.findall(r'<img src="([^"]*)" width="\d+" alt="([^"]*)">', cards)


def elements(node: Any) -> Iterator[Any]:
    """Every element under a node of the page."""
    children = getattr(node, "children", None)
    if children:
        for child in children.values():
            yield from elements(child)
    else:
        yield node


def blocks(node: Any, kind: str) -> Iterator[Any]:
    """Every container of a kind under a node of the page."""
    for child in (getattr(node, "children", None) or {}).values():
        if child.type == kind:
            yield child
        yield from blocks(child, kind)


def opened(app: AppTest) -> AppTest:
    """The same page with every part open that is drawn once it is."""
    for part in blocks(app.main, "expander"):
        if part.proto.id:
            app.session_state[part.proto.id.removeprefix("$$ID-").partition("-")[2]] = True
    return app.run()
