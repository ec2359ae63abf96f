"""The words on the pages: found from every page, linked by the address, and behind the question marks where they stand."""

import ast
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pages.conftest import app_at
from pages.reading import elements, text_of
from streamlit.testing.v1 import AppTest

import workbench
from workbench.errors import WorkbenchError
from workbench.pages import PAGES
from workbench.ui.words import KEY, explained, explained_all
from workbench.words import ALSO, WORDS, define

PACKAGE = Path(workbench.__file__).parent
ASKING = ("define", "explained", "explained_all")


def asked_words(folders: Sequence[str] = ("ui", "pages")) -> Iterator[str]:
    """Every word whose meaning the modules of some folders ask for by name."""
    for path in itertools.chain.from_iterable(PACKAGE.glob(f"{folder}/**/*.py") for folder in folders):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ASKING:
                named = node.args if node.func.id == "explained_all" else node.args[:1]
                yield from (str(word.value) for word in named if isinstance(word, ast.Constant))


def helps(app: AppTest) -> list[str]:
    """What stands behind the question marks of a page."""
    return [element.proto.help for element in elements(app.main) if getattr(element, "proto", None) and hasattr(element.proto, "help")]


def test_every_word_that_a_page_explains_is_known() -> None:
    words = set(asked_words())
    assert {"claim", "bound", "lower bound", "delta", "neighbours", "mark", "ledger"} <= words
    assert words <= {*WORDS, *ALSO}


@pytest.mark.parametrize("page", PAGES)
def test_every_page_explains_words_where_they_stand(page: str) -> None:
    assert list(asked_words([f"pages/{page}"]))


def test_a_word_is_defined_by_each_of_its_names() -> None:
    assert define("upper bound") == define("bound") == WORDS["bound"]
    assert WORDS.keys().isdisjoint(ALSO)
    assert [word for word in (*WORDS, *ALSO) if word != word.lower()] == [], "`workbench help` looks for small letters"
    assert set(ALSO.values()) <= WORDS.keys()
    with pytest.raises(WorkbenchError, match=r"Unknown word 'epsilom'. Choose one of: epsilon, epsilon 0, delta"):
        define("epsilom")


def test_a_question_mark_begins_with_the_meaning() -> None:
    assert explained("delta") == WORDS["delta"]
    assert explained("delta", "Empty: the default.") == f"{WORDS['delta']}\n\nEmpty: the default."
    assert explained_all("claim", "bound") == f"**Claim**: {WORDS['claim']}\n\n**Bound**: {WORDS['bound']}"


@pytest.mark.usefixtures("workbench_home")
@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_the_words_closed_until_one_is_asked_for(page: str) -> None:
    app = app_at(page).run()
    assert app.selectbox(key=KEY).value is None
    assert app.session_state["words"] is False
    assert WORDS["joined method"] not in text_of(app)


@pytest.mark.usefixtures("workbench_home")
def test_a_chosen_word_is_explained_and_in_the_address() -> None:
    app = app_at("claims").run()
    app.selectbox(key=KEY).select("lower bound").run()
    assert not app.exception
    assert f"**lower bound**: {WORDS['lower bound']}" in text_of(app)
    assert app.selectbox(key=KEY).proto.query_param_key == KEY
    assert "`?word=lower+bound`" in text_of(app)


@pytest.mark.usefixtures("workbench_home")
@pytest.mark.parametrize(("word", "is_open"), [("epsilon", True), ("upper bound", True), ("epsilom", False)])
def test_an_address_with_a_word_opens_it(word: str, is_open: bool) -> None:
    app = app_at("records")
    app.query_params[KEY] = word
    app.run()
    assert not app.exception
    assert app.session_state["words"] is is_open
    assert (f"**{word}**: " in text_of(app)) is is_open


@pytest.mark.usefixtures("workbench_home")
def test_cards_and_headings_say_what_their_words_mean() -> None:
    app = app_at("claims").run()
    shown: list[Any] = [metric.help for metric in app.metric]
    for word in ("claim", "bound", "lower bound"):
        assert any(text.startswith(WORDS[word]) for text in shown), word
    facts = next(text for text in helps(app) if text.startswith("**Delta**"))
    assert all(WORDS[word] in facts for word in ("delta", "accountant", "neighbours"))
    assert next(heading for heading in app.header if heading.value == "Spent on each dataset").proto.help == WORDS["ledger"]
