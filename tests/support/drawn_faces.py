"""A few drawn faces with attributes, their glasses as the label."""

from functools import cache

from workbench.datasets import Dataset, faces


@cache
def toy_faces(num_records: int = 120) -> Dataset:
    """Faces of 16x16 pixels in colour, with smile, hair and the like as attributes; a fifth as many held out."""
    drawn = faces.draw(faces.FACES, num_records * 6 // 5, (3, 16, 16))
    facts = faces.facts(faces.FACES, (3, 16, 16), num_records).model_copy(update={"name": "toy-faces"})
    return Dataset(facts, drawn.take(slice(num_records)), drawn.take(slice(num_records, None))).labelled_by("glasses")
