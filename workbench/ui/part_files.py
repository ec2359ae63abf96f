"""A panel as one HTML file that opens without installation and fetches nothing: for a lecture, a blog, or an e-mail."""

import base64
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from PIL import Image

from workbench.escaping import html_text
from workbench.ui.part_scripts import DRAWINGS, FRAMES, GUESSES
from workbench.ui.parts import Beside, Chart, Frames, Guesses, Numbers, Part, Pictures, Words

POLICY = "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; --ink: #16242b; --ground: #fff; --soft: #f3f6f7; --line: #77848c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4ecef; --ground: #10191e; --soft: #1a262c; --line: #8a979f; } }
body { font: 17px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 75rem; margin: 1.5rem auto; }
body { padding: 0 1rem; } h1 { font-size: 1.8rem; margin: 0 0 .4rem; } h2 { font-size: 1.25rem; margin: 1.4rem 0 .4rem; }
.beside { display: flex; flex-wrap: wrap; gap: 1.5rem; } .beside > div { flex: 1 1 26rem; min-width: 0; }
.picture { display: flex; align-items: center; gap: .8rem; margin: .25rem 0; flex-wrap: wrap; } .picture span { min-width: 7rem; }
img { image-rendering: pixelated; max-width: 100%; border: 1px solid var(--line); }
table { border-collapse: collapse; font-size: .92rem; } th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; }
th, td { text-align: left; } .wide { overflow-x: auto; } .frames { background: var(--soft); padding: .6rem 1rem; border-radius: .4rem; }
.frames label { display: flex; gap: 1rem; align-items: center; font-weight: 600; } input[type=range] { flex: 1; accent-color: #0b6b74; }
button { font: inherit; padding: .35rem .8rem; margin: .2rem .3rem .2rem 0; border: 1px solid var(--line); border-radius: .4rem; }
button { background: var(--soft); color: var(--ink); cursor: pointer; } :focus-visible { outline: 3px solid #56b4e9; outline-offset: 2px; }
footer { margin-top: 2rem; font-size: .85rem; border-top: 1px solid var(--line); padding-top: .5rem; }
.js-plotly-plot text { fill: var(--ink) !important; } .js-plotly-plot .gridlayer path { stroke: var(--line) !important; opacity: .35; }
.js-plotly-plot .legend .bg { fill: transparent !important; } summary { cursor: pointer; }
"""
# Plotly's own toolbar offers to upload a chart: what is private would leave the machine at a press.
NO_UPLOAD: Mapping[str, Any] = {"displaylogo": False, "showSendToCloud": False, "plotlyServerURL": ""}
MADE = "Made by the DP diffusion workbench."
ON_DIGITS = "Computed on bundled digits."
ALONE = "The file fetches nothing and keeps nothing."


def panel_file(title: str, lead: str, parts: Sequence[Part], of: str = "") -> str:
    """The file; charts come with the library that draws them, pictures as data. `of` is a sentence on the records that it is of."""
    body, has_chart = "\n".join(_html(parts)), any(_charts(parts))
    heading = html_text(title)
    head = [
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{heading}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style>',
        _library() if has_chart else "",
        f"</head><body><main><h1>{heading}</h1><p>{html_text(lead)}</p>",
    ]
    footer = html_text(" ".join(filter(None, [MADE, of, ALONE])))
    scripts = f"<script>{DRAWINGS}{FRAMES}{GUESSES}</script>"
    return "\n".join([*head, body, f"</main><footer>{footer}</footer>{scripts}</body></html>\n"])


def _library() -> str:
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script><script>const drawings = [];</script>"


def _charts(parts: Sequence[Part]) -> Iterator[Chart]:
    for part in parts:
        if isinstance(part, Chart):
            yield part
        elif isinstance(part, Beside):
            for column in part.columns:
                yield from _charts(column)


def _html(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        match part:
            case Words(text, is_heading):
                yield f"<h2>{html_text(text)}</h2>" if is_heading else f"<p>{html_text(text)}</p>"
            case Pictures(rows, alt):
                for name, image in rows:
                    words = f"<span>{html_text(name)}</span>" if name else ""
                    yield f'<div class="picture">{words}{_image(image, f"{alt}: {name}" if name else alt)}</div>'
            case Chart(name, figure, alt, table):
                yield _chart(Chart(name, figure, alt, table))
            case Numbers(frame, alt):
                yield _table(frame, alt)
            case Beside(columns):
                inner = "".join(f"<div>{''.join(_html(column))}</div>" for column in columns)
                yield f'<div class="beside">{inner}</div>'
            case Frames():
                yield _frames(part)
            case Guesses():
                yield _guesses(part)


def _chart(part: Chart) -> str:
    figure = part.figure.to_dict()
    figure["layout"] |= {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)"}
    figure["layout"].pop("template", None)
    for axis in ("xaxis", "yaxis"):
        figure["layout"][axis] = figure["layout"].get(axis, {}) | {"automargin": True, "zeroline": False}
    figure["config"] = {**NO_UPLOAD, "responsive": True}  # beside a whole figure, Plotly takes no configuration
    values = json.dumps(_plain(figure)).replace("<", "\\u003c")
    drawn = f'drawings.push(() => Plotly.newPlot("{part.name}", {values}));'
    details = f"<details><summary>Numbers of the chart</summary>{_table(part.table, part.alt)}</details>"
    return f'<div id="{part.name}" role="img" aria-label="{html_text(part.alt)}"></div><script>{drawn}</script>{details}'


def _plain(value: object) -> object:
    """Arrays and numbers of numpy as those of JSON, what is not finite as null."""
    from plotly.utils import PlotlyJSONEncoder

    return json.loads(json.dumps(value, cls=PlotlyJSONEncoder))


def _table(frame: pd.DataFrame, alt: str) -> str:
    head = "".join(f'<th scope="col">{html_text(name)}</th>' for name in frame.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{html_text(_cell(cell))}</td>' for cell in row)}</tr>" for row in frame.itertuples(index=False))
    return f'<div class="wide"><table aria-label="{html_text(alt)}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cell(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value


def _frames(part: Frames) -> str:
    name = html_text(part.label)
    sections = "".join(_frame(part, place) for place in range(len(part.choices)))
    slider = f'<input type="range" min="0" max="{len(part.choices) - 1}" value="{part.chosen}" aria-label="{name}">'
    return f'<div class="frames"><label>{name} {slider}<output>{html_text(part.choices[part.chosen])}</output></label>{sections}</div>'


def _frame(part: Frames, place: int) -> str:
    hidden = "" if place == part.chosen else " hidden"
    return f'<section data-label="{html_text(part.choices[place])}"{hidden}>{"".join(_html(part.parts(place)))}</section>'


def _guesses(part: Guesses) -> str:
    data = {
        "pictures": [_data(image) for image in part.pictures],
        "scores": [round(score, 3) for score in part.scores],
        "truth": [bool(there) for there in part.truth],
        "chart": part.chart,
        "trace": part.trace,
    }
    values = json.dumps(data).replace("<", "\\u003c")
    asks = "Did the record on the left take part? On the right is the mean of the others."
    return (
        f'<div class="frames" id="guesses"><p>{asks}</p>{_image(part.target, "The record, and the mean of the others")}'
        '<p id="run"></p><img id="samples" alt="What the run shows"><p id="score"></p>'
        f'<div id="ratings"></div><p id="said" aria-live="polite"></p></div>'
        f'<script type="application/json" id="runs">{values}</script>'
    )


def _image(image: Image.Image, alt: str) -> str:
    return f'<img src="{_data(image)}" width="{image.width}" height="{image.height}" alt="{html_text(alt)}">'


def _data(image: Image.Image) -> str:
    file = io.BytesIO()
    image.save(file, format="PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
