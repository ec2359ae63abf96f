"""The pictures of the documents: six pages as they are, small files, each in a document with words for who does not see it.

`tests/browser/test_screenshots.py` makes them anew.
"""

import re
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
PICTURES = {"start", "budget", "every-method", "process", "gallery", "dossier"}
LARGEST = 150_000  # bytes
FEWEST_WORDS = 8


def test_there_are_six_pictures_of_pages_and_none_is_large() -> None:
    assert {path.stem for path in IMAGES.glob("*.png")} == PICTURES
    for path in IMAGES.glob("*.png"):
        assert path.stat().st_size <= LARGEST
        assert Image.open(path).width >= 1_000


def test_each_stands_in_a_document_and_is_described() -> None:
    documents = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    descriptions = {}
    for path in documents:
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]*images/[a-z-]+\.png)\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path} shows {target}"
            descriptions[Path(target).stem] = words
    assert set(descriptions) == PICTURES
    assert all(len(words.split()) >= FEWEST_WORDS for words in descriptions.values())
