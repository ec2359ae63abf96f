"""Pieces of a dossier's HTML. Every text is escaped here: what a stranger may have written shows letter by letter."""

from collections.abc import Iterable, Mapping, Sequence

from workbench.escaping import html_text

SHORT = 16  # letters of a cell that stays on one line, as numbers do
OPEN = '<p class="open">Not stated. The workbench cannot know this.</p>'


def heading_html(text: str, level: int = 2) -> str:
    """A heading."""
    return f"<h{level}>{html_text(text)}</h{level}>"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph, of a class where one is named."""
    return f"<p{f' class={kind}' if kind else ''}>{html_text(text)}</p>"


def list_html(items: Iterable[str]) -> str:
    """A list."""
    return f"<ul>{''.join(f'<li>{html_text(item)}</li>' for item in items)}</ul>"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with its caption; a row's first cell is its heading."""
    columns = "".join(f'<th scope="col">{html_text(name)}</th>' for name in head)
    body = "".join(f'<tr><th scope="row">{html_text(row[0])}</th>{"".join(map(_cell, row[1:]))}</tr>' for row in rows)
    shown = f"<table><caption>{html_text(caption)}</caption><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="region" aria-label="{html_text(caption)}">{shown}</div>'


def _cell(text: str) -> str:
    """A cell; what is as short as a number is not broken."""
    kind = ' class="short"' if len(text) <= SHORT else ""
    return f"<td{kind}>{html_text(text)}</td>"


def fields(values: Mapping[str, str]) -> str:
    """Names and their values."""
    return f"<dl>{''.join(f'<dt>{html_text(name)}</dt><dd>{html_text(value)}</dd>' for name, value in values.items())}</dl>"


def answer(question: str, text: str) -> str:
    """A question and what a person said; an open one says that it is."""
    said = f'<p class="said">{html_text(text)}</p>' if text else OPEN
    return f'<div class="question"><p class="asks">{html_text(question)}</p>{said}</div>'


def picture_or_text(shown: str, alt: str) -> str:
    """A picture that is its own content, or a row of a table as text."""
    if shown.startswith("data:image/png;base64,"):
        return f'<img src="{html_text(shown)}" alt="{html_text(alt)}">'
    return f"<code>{html_text(shown)}</code>"
