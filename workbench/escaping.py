"""Text of the user's data (class names, datasets, notes, files) made inert where it is shown: Markdown, HTML, spreadsheet, terminal.

Whatever can be read from a file can be written by a stranger: unescaped, an image link in a class name would be fetched.
"""

import html
import re
import unicodedata

PUNCTUATION = re.compile(r"([\\`*_\[\]<>$~|&#^{}]|:(?=\S))")
ADDRESS = re.compile(r"(?<=http:)|(?<=https:)|(?<=www)(?=\.)|(?=@)", flags=re.IGNORECASE)  # where a bare address becomes a link
CODE = re.compile(r"`([^`]+)`")
JOINER = "\u2060"  # takes no room and breaks no line; addresses are looked for after escapes are read
FORMULA_STARTS = tuple("=+-@\uff1d\uff0b\uff0d\uff20\u2212")  # with their full-width forms, which some spreadsheets read alike
# C0, C1, marks of direction, and what is no text
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
UNSEEN = ("Z", "Cc", "Cf")  # categories of letters that show nothing: blanks of any width, control marks, joiners
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


def markdown(text: object) -> str:
    """`text` as one line of Markdown that shows it letter by letter: no link, image, formula, icon, colour or HTML."""
    return PUNCTUATION.sub(r"\\\1", ADDRESS.sub(JOINER, " ".join(str(text).split())))


def prose(text: object) -> str:
    """A sentence of ours that may quote a stranger: as `markdown`, but what is between two backticks is shown as code, as inert."""
    parts = CODE.split(" ".join(str(text).split()))
    return "".join(f"`{part}`" if place % 2 else _markdown_with_blanks(part) for place, part in enumerate(parts))


def _markdown_with_blanks(part: str) -> str:
    """`markdown` of a part of a line, with the blanks at its ends."""
    inner = part.strip()
    return part.replace(inner, markdown(inner)) if inner else part


def html_text(text: object) -> str:
    """`text` for HTML and for the labels of charts, which read some of it."""
    return html.escape(str(text))


def terminal(text: object) -> str:
    """`text` for a terminal: what would move its cursor, colour it, name its window or turn its reading order shows as an escape.

    Line ends and tabs stay.
    """
    return CONTROL.sub(lambda match: match.group().encode("unicode_escape").decode(), str(text))


def spreadsheet_cell(text: str) -> str:
    """`text` as a cell that no spreadsheet takes for a formula, whatever blanks it starts with; numbers stay as they are."""
    if NUMBER.fullmatch(text.strip()):
        return text
    runs = text.startswith(("\t", "\r", "\n")) or visible_text(text).startswith(FORMULA_STARTS)
    return f"'{text}" if runs else text


def visible_text(text: str) -> str:
    """`text` from the first letter that shows."""
    start = next((place for place, letter in enumerate(text) if not unicodedata.category(letter).startswith(UNSEEN)), len(text))
    return text[start:]
