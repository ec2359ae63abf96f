"""The neighbour gallery as one HTML file that needs nothing else: every sample beside its nearest records."""

from collections.abc import Sequence

from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError
from workbench.escaping import html_text
from workbench.evaluation.neighbours import OUTSIDE_GUARANTEE, Neighbours
from workbench.records import Records

_STYLE = """
:root { color-scheme: light dark; }
body { font-family: sans-serif; margin: 2rem; color: light-dark(#1a1a1a, #e4ecef); background: light-dark(#fff, #10191e); }
.warning { border-left: 4px solid #b00020; padding: .5rem 1rem; background: light-dark(#fdecee, #3a1a1f); }
table { border-collapse: collapse; margin-top: 1rem; }
th, td { padding: .3rem .6rem; text-align: center; font-size: .8rem; vertical-align: top; }
th, td { border-bottom: 1px solid light-dark(#ddd, #35454d); }
img { width: 56px; height: 56px; object-fit: contain; image-rendering: pixelated; display: block; margin: auto; }
code { font-size: .75rem; word-break: break-all; }
"""


def neighbours_html(
    samples: Records,
    dataset: Dataset,
    neighbours: Neighbours,
    title: str = "Nearest neighbours",
    limit: int | None = 200,
    cautions: Sequence[str] = (),
) -> str:
    """A page with a row per sample, the most suspicious first: sample, k nearest training records, nearest held-out record.

    Images are inline PNGs, table rows text. `limit` rows at most (None: all); the page says how many of how many. It shows
    private records and says so; it is not releasable. `cautions` are what a reader has to know of the samples.
    """
    if len(samples) != len(neighbours):
        raise WorkbenchError(f"Expected the neighbours of these {len(samples)} samples, got those of {len(neighbours)}.")
    order = neighbours.order()[:limit]
    rows = "\n".join(_row(position, samples, dataset, neighbours) for position in order)
    title = html_text(title)
    known = "".join(f'<p class="warning">{html_text(sentence)}</p>\n' for sentence in cautions)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style></head>\n'
        f'<body>\n<h1>{title}</h1>\n<p class="warning">{OUTSIDE_GUARANTEE}</p>\n{known}{_introduction(len(order), dataset, neighbours)}\n'
        f"<table>\n<thead>{_header(neighbours)}</thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</body></html>\n"
    )


def _introduction(shown: int, dataset: Dataset, neighbours: Neighbours) -> str:
    return (
        f"<p>{shown} of {len(neighbours)} samples, the most suspicious first, against {len(dataset.train)} training and "
        f"{len(dataset.held_out)} held-out records of {html_text(dataset.facts.name)}. Distances are Euclidean in the features "
        f"{html_text(neighbours.features)}. Suspicion is h / (t + h) with t and h the distances to the nearest training and "
        "held-out record: 1 for an exact copy, 0.5 where both are as near.</p>"
    )


def _header(neighbours: Neighbours) -> str:
    nearest = "".join(f"<th>training {rank}</th>" for rank in range(1, neighbours.indices.shape[1] + 1))
    return f"<tr><th>sample</th><th>suspicion</th>{nearest}<th>held-out</th></tr>"


def _row(position: int, samples: Records, dataset: Dataset, neighbours: Neighbours) -> str:
    nearest = zip(neighbours.indices[position], neighbours.distances[position], strict=True)
    cells = [
        _cell(samples, position, dataset, f"#{position}"),
        f"<td>{neighbours.suspicion[position]:.3f}</td>",
        *(_cell(dataset.train, index, dataset, f"{distance:.3f}") for index, distance in nearest),
        _cell(dataset.held_out, neighbours.held_out_indices[position], dataset, f"{neighbours.held_out_distances[position]:.3f}"),
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _cell(records: Records, index: int, dataset: Dataset, caption: str) -> str:
    record = records.records[index]
    label = "" if records.labels is None else html_text(dataset.facts.classes[records.labels[index]])
    text = html_text(caption if not label else f"{caption} · {label}")
    return f"<td>{dataset.facts.kind.html(record, text)}</td>"
