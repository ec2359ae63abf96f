"""Numbers that arithmetic fails on are refused while nothing is spent, by every float of every configuration."""

from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from workbench.errors import WorkbenchError
from workbench.methods import METHODS
from workbench.request import Request, nested_model, read_settings

FINE = {  # where next to nothing is as good as nothing, or as the least there is
    "absolute",
    "adversarial_weight",
    "blur",
    "churn",
    "churn_sigma_max",
    "churn_sigma_min",
    "ema_decay",
    "ends",
    "epsilon",
    "eta",
    "fresh",
    "guidance_scale",
    "label_dropout",
    "label_weight",
    "length_scale",
    "log_sigma_mean",
    "momentum",
    "power",
    "quantile",
    "scale",
    "share_of_drawings",
    "sharpening",
    "spread",
    "teacher_guidance",
    "threshold",
    "variation_of_mixtures",
    "variation_size",
    "vlb_weight",
    "weight",
    "weights",
}
CHECKED_TOGETHER = {"ends", "weights"}  # by the model that holds them, of which they are shares


def floats(model: type[BaseModel], outer: str = "") -> Iterator[tuple[str, bool]]:
    """Dotted names of a configuration's numbers that are not whole; whether one is a list of them."""
    for name, field in model.model_fields.items():
        inner = nested_model(field)
        if inner is not None:
            yield from floats(inner, f"{outer}{name}.")
        elif "float" in str(field.annotation):
            yield f"{outer}{name}", "tuple" in str(field.annotation)


@pytest.mark.parametrize("method", METHODS)
def test_no_number_is_too_small_or_too_large_to_compute_with(method: str) -> None:
    config = METHODS[method].Config
    taken = []
    for name, several in floats(config):
        last = name.rpartition(".")[2]
        for value in (1e-320, 1e-100, 1e100, 1e300):
            if last in (FINE if value < 1 else CHECKED_TOGETHER):
                continue
            try:
                read_settings(config, {name: [value] if several else value}, method)
            except WorkbenchError:
                continue
            taken.append((name, value))
    assert taken == [], (
        "A setting takes a value that arithmetic fails on: bound its field, such as `ge=1e-3, le=1e6`. Where next to nothing does no harm, "
        "as of a share or a weight, add the last part of its name to FINE above."
    )


@pytest.mark.parametrize("norm", [1e-320, 1e300])
def test_a_clipping_norm_that_nothing_can_be_computed_with_is_refused_in_a_sentence(norm: float) -> None:
    for method, name in (("dp-sgd-dm", "training.max_grad_norm"), ("class-moments", "max_norm"), ("ddm", "training.max_grad_norm")):
        with pytest.raises(WorkbenchError, match=name):
            Request.of(method, "digits", settings={name: norm})
    assert Request.of("class-moments", "digits", settings={"max_norm": 0}).settings == {"max_norm": 0.0}
