"""A dossier as one self-contained HTML file, made for paper too, with its values inside for whoever checks it."""

import json

from pydantic import ValidationError

from workbench.errors import WorkbenchError, first_complaint
from workbench.escaping import html_text
from workbench.runs.dossier.pieces import list_html, paragraph
from workbench.runs.dossier.questions import QUESTIONS
from workbench.runs.dossier.sections import body
from workbench.runs.dossier.values import Dossier

BEGIN, END = '<script type="application/json" id="values">', "</script>"
MOST_BYTES = 64 * 2**20
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f23; --ground: #fff; --soft: #f3f5f7; --line: #8c959d; --warn: #8a4b00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaec; --ground: #14181c; --soft: #20262c; --line: #7c868f; --warn: #ffb454; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); }
body { max-width: 58rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.9rem; margin: 0; } h2 { margin-top: 2.4rem; border-bottom: 2px solid var(--line); } h3 { margin-top: 1.6rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; } caption { text-align: left; font-weight: 600; padding: .6rem 0 .3rem; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .5rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
@media screen { td.short { white-space: nowrap; } }
thead th { background: var(--soft); overflow-wrap: normal; } tbody th { font-weight: 500; min-width: 7rem; }
.wide { overflow-x: auto; } dt { font-weight: 600; } dd { margin: 0 0 .5rem; }
.question { background: var(--soft); padding: .6rem 1rem; margin: .7rem 0; break-inside: avoid; } .question p { margin: .2rem 0; }
.asks { font-weight: 600; } .said { white-space: pre-wrap; } .open { color: var(--warn); font-style: italic; }
.mark { font-weight: 700; padding: .6rem 1rem; border: 3px solid currentColor; } .warning { color: var(--warn); font-weight: 600; }
.hash, code { font-family: ui-monospace, monospace; font-size: .82rem; overflow-wrap: anywhere; }
.line { margin-top: 4rem; border-top: 1px solid var(--ink); width: 22rem; }
svg { width: 100%; height: auto; } svg text { fill: currentColor; font: 14px system-ui, sans-serif; }
.card { display: flex; flex-wrap: wrap; gap: .7rem; border-bottom: 1px solid var(--line); padding: .5rem 0; break-inside: avoid; }
.card p { width: 100%; margin: 0; font-weight: 600; } figure { margin: 0; max-width: 16rem; } figcaption { font-size: .8rem; }
.card img { width: 72px; image-rendering: pixelated; border: 1px solid var(--line); }
@page { size: A4; margin: 18mm; }
@media print {
  :root { --ink: #000; --ground: #fff; --soft: #f3f3f3; --line: #777; --warn: #7a3d00; }
  body { max-width: none; margin: 0; font-size: 10.5pt; } .wide { overflow: visible; } h2, h3, caption { break-after: avoid; }
  tr, figure { break-inside: avoid; }
}
"""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
FOR = {
    "outside": "This version may be released: every number of the workbench in it is covered by the bound, public, or "
    "computed without private records. Answers to questions are the words of whoever gave them.",
    "room": "PRIVATE: DO NOT SHARE. This version shows training records and numbers that were computed from them without noise.",
}


def render(dossier: Dossier) -> str:
    """The file; equal values make equal files."""
    card, title = dossier.card, html_text(f"Privacy dossier of run {dossier.card.run}")
    values = dossier.text.replace("<", "\\u003c")
    missing = [question.asks for key, question in QUESTIONS.items() if not dossier.answers.get(key)]
    parts = [
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body><main><h1>{title}</h1>',
        paragraph(
            f"{dossier.title} ({card.method}), trained on {card.num_records:,} records of {card.dataset}. Made on {dossier.made} by "
            f"version {card.workbench}, in the order of NIST SP 800-226."
        ),
        paragraph(f"{'May be released' if card.releasable else 'NOT PRIVATE'}. {card.release_reason}", "mark"),
        paragraph(FOR[dossier.audience], "warning" if dossier.room is not None else ""),
        paragraph(f"SHA-256 of the values: {dossier.digest}", "hash"),
        _open(missing),
        *body(dossier),
        f"</main>{BEGIN}{values}{END}</body></html>\n",
    ]
    return "\n".join(parts)


def read_dossier(text: str) -> Dossier:
    """The values of a file that `render` made; raises WorkbenchError for what is none."""
    start = text.find(BEGIN)
    end = text.find(END, start)
    if start < 0 or end < 0:
        raise WorkbenchError("Expected a dossier as `workbench dossier` writes it, got a file without its values.")
    try:
        return Dossier.model_validate(json.loads(text[start + len(BEGIN) : end]))
    except ValidationError as error:
        raise WorkbenchError(f"Expected a dossier as `workbench dossier` writes it, got {first_complaint(error)}") from None
    except (ValueError, RecursionError) as error:
        raise WorkbenchError(f"Expected a dossier as `workbench dossier` writes it, got values that are no JSON ({error}).") from None


def _open(missing: list[str]) -> str:
    if not missing:
        return paragraph("Every question to people has an answer.")
    words = f"{len(missing)} questions that only people can answer are open:"
    return f'<div class="question">{paragraph(words, "warning")}{list_html(missing)}</div>'
