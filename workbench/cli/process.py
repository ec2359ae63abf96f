"""The command that writes a teaching panel as a file."""

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.options import check_target
from workbench.cli.output import print_fields
from workbench.errors import WorkbenchError
from workbench.files import write_text_atomically

app = typer.Typer()


@app.command()
def process(
    panel: Annotated[str, typer.Argument(metavar="PANEL", help="forward, step, reverse, selection or attacker.")],
    out: Annotated[Path, typer.Option("--out", help="The .html to write.")],
    chosen: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A choice of the panel, as epsilon=5; a wrong one lists those that there are."),
    ] = None,
) -> None:
    """Write a panel of the Process page as one HTML file, for a lecture or a blog: it opens without installation or network."""
    from workbench.pages.process.panels import file_of

    check_target(out, ".html")
    pairs = [text.partition("=") for text in chosen or []]
    if wrong := next((key for key, separator, _ in pairs if not separator), None):
        raise WorkbenchError(f"Expected --set KEY=VALUE, got {wrong!r}.")
    text = file_of(panel, {key: value for key, _, value in pairs})
    write_text_atomically(out, text)
    print_fields({"panel": panel, "written": str(out), "bytes": len(text.encode())})
