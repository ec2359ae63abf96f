"""The terms of a discrete model's evidence lower bound as measures: reconstruction, prior and denoising."""

import numpy as np

from workbench.evaluation.context import Context, Measurement, Metric
from workbench.evaluation.intervals import normal
from workbench.records import Records

MOST_BOUNDED = 1_000  # records whose terms are taken: each takes as many passes as there are time steps
WORDS = {
    "reconstruction": "naming the record from its least noised form",
    "prior": "what the noisiest form still tells of the record",
    "denoising": "the steps between the two",
}


def bound_term(term: str) -> Metric:
    """The mean over held-out records of one term; the three together bound -log p of a record from above."""

    def measure(_samples: Records, context: Context) -> Measurement:
        held_out = context.dataset.held_out
        chosen = np.random.default_rng(context.seed).permutation(len(held_out))[:MOST_BOUNDED]
        assert context.terms is not None  # what `needs` asks for
        nats = context.terms(held_out.take(chosen), context.seed)[term]
        value, error = float(nats.mean()), float(nats.std(ddof=1)) / len(nats) ** 0.5
        note = f"Of the model, over {len(nats)} held-out records, each by one draw a time step; the samples are not looked at."
        return Measurement(value, normal(value, error, low=0.0), "one-hot", note)

    return Metric(
        name=f"elbo_{term}",
        title=f"ELBO, {term} term",
        kinds=frozenset({"table"}),
        function=measure,
        description=f"Mean nats of a held-out record for {WORDS[term]} (Wei et al. 2024, the ELBO's {term} term).",
        better="lower",
        touches=frozenset({"held_out"}),
        unit="nats a record",
        needs="terms",
        in_features=False,
        by_name=True,
    )
