"""Text that a stranger may have written is inert in Markdown, in HTML and in a spreadsheet, and still reads as it was written."""

import csv
import io
import re
from pathlib import Path

import pytest
from support.homes import here

from workbench.cli import main
from workbench.cli.output import print_fields, print_table
from workbench.cli.starting import warn
from workbench.escaping import html_text, markdown, prose, spreadsheet_cell, terminal
from workbench.runs.verdicts import Verdicts

EVIL = [
    "![x](http://127.0.0.1:9/x.png)",
    "[click](http://127.0.0.1:9)",
    "<img src=http://127.0.0.1:9/x.png>",
    "**bold** _slant_ `code` ~~gone~~ $x^2$",
    ":red[alarm] :material/lock: :smile:",
    "http://evil.example www.evil.example a@evil.example",
    "# heading\n- list\n\n![x][y]\n\n[y]: http://127.0.0.1:9/x.png",
    "a | b",
    "\\![x](http://127.0.0.1:9/x.png)",
]


@pytest.mark.parametrize("text", EVIL)
def test_markdown_shows_the_letters(text: str) -> None:
    """Read by an independent CommonMark parser, with GitHub's extensions: one paragraph of one text."""
    from markdown_it import MarkdownIt

    shown = markdown(text)
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(f"Dataset {shown}")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    children = tokens[1].children or []
    assert {child.type for child in children} == {"text"}
    read = "".join(child.content for child in children)
    assert read.replace("\u2060", "") == f"Dataset {' '.join(text.split())}"
    assert not re.search(r"https?://|www\.|[\w.+-]@", read)  # what GitHub's extension makes a link of, whatever was escaped


@pytest.mark.parametrize("text", [*EVIL, "`a` ``b`` `[x](http://127.0.0.1:9)` \\`c`", "`", "``", "``` d"])
def test_a_sentence_shows_code_and_is_as_inert(text: str) -> None:
    from markdown_it import MarkdownIt

    (_, line, _) = MarkdownIt("gfm-like", {"linkify": False}).parse(f"Run {prose(text)}")
    children = line.children or []
    assert {child.type for child in children} <= {"text", "code_inline"}
    assert prose("`workbench runs` lists *them*.") == "`workbench runs` lists \\*them\\*."
    words = "".join(child.content for child in children if child.type == "text")
    assert not re.search(r"https?://|www\.|[\w.+-]@", words)


def test_a_plain_name_stays_as_it_is() -> None:
    for text in ("digits", "class 7", "Expected delta in (0, 1), got 2.0. Choose one of: a, b.", "/data/images-2, part 1"):
        assert markdown(text) == text


def test_html_is_text() -> None:
    assert html_text('<img src=x onerror="y">&') == "&lt;img src=x onerror=&quot;y&quot;&gt;&amp;"


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        " =1+1",
        "\t=1+1",
        "\r\n=1+1",
        "\u00a0=1",
        "\ufeff=1",
        "\v\f=1",
        "\u3000@x",
        "\u2003=1",
        "\u202f=1",
        "\u200b=1",
        "\u2060\u00ad=1",
        "\uff1dSUM(A1)",
        "\u200b\uff20x",
        " +cmd",
        "-cmd|x",
        "- 1+1",
        "@SUM(A1)",
        "\tx",
        "=1e5",
        "+1-1",
    ],
)
def test_what_a_spreadsheet_would_run_is_quoted(text: str) -> None:
    assert spreadsheet_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "fine", " fine", "-1.5", "+3", "-1e-5", " -2 ", ".5", "a=b", "1-2"])
def test_numbers_and_words_stay(text: str) -> None:
    assert spreadsheet_cell(text) == text


TITLE = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\r\u202exedni\u2066\udcff"  # names the window, clears it, colours, turns the letters round


def test_a_terminal_shows_what_would_steer_it() -> None:
    assert terminal(TITLE) == r"\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\r\u202exedni\u2066\udcff"
    assert terminal("Größe 8×8,\tcat\n漢字 🐈") == "Größe 8×8,\tcat\n漢字 🐈"


def test_the_command_line_prints_no_control_character(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    print_table([{"dataset": TITLE, "classes": [TITLE, 1.0]}], "none")
    print_fields({"dataset": TITLE, "versions": {TITLE: TITLE}})
    warn([TITLE])
    with pytest.raises(SystemExit):
        main(["report", str(tmp_path / f"{TITLE}.json")])
    with pytest.raises(SystemExit):
        main(["plan", "dp-merf", "--dataset", str(tmp_path / TITLE)])
    with pytest.raises(SystemExit):
        main(["show", "x", TITLE])
    for text in capsys.readouterr():
        assert "owned" in text
        assert not any(control in text for control in "\x1b\x07\x9b\x7f\r\u202e\u2066\udcff")


def test_the_verdicts_file_runs_no_note() -> None:
    for sample, note in enumerate(["=1+1", " =HYPERLINK(A1)", "\u00a0@x", "-2.5", "looks copied"]):
        Verdicts(here().verdicts).judge("abcdefgh", sample, "fine", note)
    rows = list(csv.DictReader(io.StringIO(Verdicts(here().verdicts).export_csv("abcdefgh"))))
    assert [row["note"] for row in rows] == ["'=1+1", "' =HYPERLINK(A1)", "'\u00a0@x", "-2.5", "looks copied"]


def test_no_page_shows_an_error_or_a_note_as_it_stands() -> None:
    """What an error says may quote a file; `markdown` makes it inert, and nothing else may show one."""
    folder = Path(__file__).parents[1] / "workbench"
    raw = re.compile(r"st\.(error|warning|caption|markdown|info)\((str\(|error\)|run\.error|warning\)|note\)|value\.reason)")
    pages = [*(folder / "ui").glob("*.py"), *(folder / "pages").rglob("*.py")]
    assert len(pages) > 20
    assert [f"{path.name}: {match.group()}" for path in pages for match in raw.finditer(path.read_text())] == []
    assert not any("unsafe_allow_html" in path.read_text() for path in pages)
