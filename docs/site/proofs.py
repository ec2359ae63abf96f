"""The proofs, one a page: what is proved, the constants, the lines of code that rest on it and the tests that hold it, around the text."""

import ast
import re
from dataclasses import dataclass, field

from docs.site.links import ROOT


@dataclass(frozen=True)
class Theorem:
    """A proof's page: `code` and `tests` are paths, each with a name that is defined there ("" for the whole file)."""

    title: str
    statement: str
    constants: dict[str, str] = field(default_factory=dict)
    code: tuple[tuple[str, str], ...] = ()
    tests: tuple[tuple[str, str], ...] = ()


ACCOUNTING = "workbench/privacy/accounting"
THEOREMS: dict[int, Theorem] = {
    1: Theorem(
        "a bound and its neighbours",
        "A plan's bound is a pair (epsilon, delta) such that for all neighbouring data sets D, D' under the stated "
        "relation and every set A of "
        "outcomes, P[M(D) in A] <= e^epsilon P[M(D') in A] + delta.",
        {"n": "number of records: public, fixed, checked at the start of a run"},
        ((f"{ACCOUNTING}/stages.py", "Stage"), (f"{ACCOUNTING}/bounds.py", "")),
        (("tests/privacy/accounting/test_accountants.py", ""),),
    ),
    2: Theorem(
        "DP-SGD",
        "A run of T steps that draws each record with probability q, clips its gradient to norm C, adds Gaussian noise "
        "of deviation sigma C "
        "and divides by a constant is, for a record made null, at least as private as T compositions of the "
        "Poisson-sampled Gaussian mechanism "
        "with rate q and multiplier sigma.",
        {
            "C": "max_grad_norm",
            "sigma": "noise_multiplier",
            "q": "expected batch size over n, rounded down to 2^-64",
            "w": "max(2^-14, B / 2^22)",
        },
        (
            ("workbench/training/dp_sgd.py", "DPSGD"),
            ("workbench/training/private_steps.py", "PrivateSteps"),
            ("workbench/training/private_step.py", "PrivateStep"),
            ("workbench/training/batch_clipping.py", "BatchClippedStep"),
            ("workbench/training/grid.py", "gradient_grid"),
            ("workbench/training/streams.py", ""),
        ),
        (
            ("tests/training/test_private_step.py", ""),
            ("tests/training/test_sensitivity.py", ""),
            ("tests/methods/test_dp_sinkhorn.py", ""),
            ("tests/privacy/accounting/test_realised_batch.py", ""),
            ("tests/slow/test_float_attack.py", ""),
        ),
    ),
    3: Theorem(
        "a counterexample",
        "The release of every step of dp-promise's phase one with the paper's targets has no finite epsilon at any "
        "delta below batch size over n.",
        {"error of the reconstruction": "3e-13 for members, a tenth of the length or more for others"},
        (("workbench/methods/dp_promise/phases.py", ""), ("workbench/evaluation/refuting/dp_promise.py", "")),
        (("tests/privacy/attacks/test_membership.py", ""), ("tests/evaluation/test_refuting.py", "")),
    ),
    4: Theorem(
        "renoised targets",
        "With renoised targets a step of phase one is mu-GDP for a drawn record, amplified by m of n drawn without "
        "replacement; all that follows "
        "is post-processing, and both phases compose under replace special.",
        {"mu": "2 sqrt(d abar_S / (1 - abar_S))", "m": "the fixed batch size", "S": "the boundary"},
        (("workbench/methods/dp_promise/phases.py", ""),),
        (("tests/methods/test_dp_promise.py", ""), ("tests/methods/test_one_shot_targets.py", "")),
    ),
    5: Theorem(
        "one-shot releases on a grid",
        "The mean embedding with noise multiplier sigma, made in integers with noise floor(2^b N), is exactly a Gaussian mechanism: "
        "mu = 1 / sigma for a record made null and 2 / sigma for a record replaced.",
        {"grid": "multiples of sigma / 2^30", "price of a sampler within tau": "(1 + e^epsilon) tau, added to delta"},
        (
            ("workbench/training/grid.py", ""),
            ("workbench/training/floored_normals.py", ""),
            (f"{ACCOUNTING}/sampler.py", ""),
            ("workbench/methods/dp_merf/method.py", ""),
            ("workbench/models/embeddings/releases.py", ""),
            ("workbench/methods/dp_mepf/method.py", ""),
            ("workbench/methods/dp_hp/method.py", ""),
            ("workbench/methods/dp_kernel/method.py", ""),
        ),
        (
            ("tests/training/test_floored_normals.py", ""),
            ("tests/methods/test_dp_merf.py", ""),
            ("tests/methods/test_dp_mepf.py", ""),
            ("tests/methods/test_embeddings.py", ""),
        ),
    ),
    6: Theorem(
        "what may leave",
        "Samples and weights of a finished run are post-processing of its releases, so they have its bound; the bound "
        "covers nothing else that a "
        "run leaves behind.",
        {},
        (("workbench/marks.py", ""), ("workbench/runs/release/export.py", "")),
        (("tests/test_marks.py", ""), ("tests/runs/release/test_release.py", "")),
    ),
    7: Theorem(
        "the ledger",
        "The total of an account bounds, under replace special, what all runs on its records give away together, if "
        "their settings were fixed in "
        "advance.",
        {},
        (("workbench/privacy/spending/ledger.py", ""), ("workbench/privacy/spending/accounts.py", "")),
        (("tests/privacy/spending/test_ledger.py", ""), ("tests/privacy/spending/test_accounts.py", "")),
    ),
    8: Theorem(
        "votes and moments",
        "R rounds of votes with noise of deviation sigma are mu-GDP with mu = sqrt(R) / sigma under replace special and "
        "sqrt(2 R) / sigma under "
        "replace one; class moments with multipliers sigma / sqrt(w_i), sum w_i = 1, are one Gaussian mechanism of multiplier sigma.",
        {"moves of a vote": "1 and sqrt 2", "moves of a second moment": "C^2 and sqrt 2 C^2", "shares": ".6, .05, .35; replace one 2.414"},
        (
            ("workbench/models/selection/spaces.py", ""),
            ("workbench/methods/class_means/method.py", ""),
            ("workbench/methods/class_moments/method.py", ""),
            ("workbench/methods/prior_moments/method.py", ""),
            ("workbench/methods/dp_feta/method.py", ""),
            ("workbench/methods/privimage/method.py", ""),
            ("workbench/methods/p3gm/method.py", ""),
        ),
        (
            ("tests/models/test_selection.py", ""),
            ("tests/methods/test_class_moments.py", ""),
            ("tests/methods/test_prior_moments.py", ""),
            ("tests/methods/test_cluster_moments.py", ""),
            ("tests/methods/test_private_classifier.py", ""),
            ("tests/methods/test_dp_feta.py", ""),
            ("tests/methods/test_privimage.py", ""),
            ("tests/methods/test_p3gm.py", ""),
        ),
    ),
    9: Theorem(
        "distillation and responses",
        "DP-SAD's sound mode is the composition of its teacher's and its student's DP-SGD. Equation 15 is a Gaussian "
        "mechanism of multiplier "
        "sigma / (2 B T) in each step. A randomised response that is a record verbatim has no finite epsilon for small deltas.",
        {"multiplier of one record's own term": "sigma / T"},
        (("workbench/methods/dp_sad/method.py", ""), ("workbench/evaluation/refuting/recovery.py", "")),
        (("tests/methods/test_dp_sad.py", ""), ("tests/models/test_recovery.py", "")),
    ),
    10: Theorem(
        "choices of bounded range",
        "A choice with weights exp(eps_0 s / 2), where making a record null moves every score s by at most 1, has range "
        "eps_0. k such choices "
        "cost exactly delta_k = T^k V_0, and any interleaving with other mechanisms costs at most the "
        "composition with the pair of that profile.",
        {"delta of one choice": "(1 - e^((eps - r)/2))^2 / (1 - e^-r) for |eps| <= r", "grid": "r / 64", "weights": "multiples of 2^-256"},
        ((f"{ACCOUNTING}/bounded_range.py", ""), ("workbench/training/exponential.py", ""), ("workbench/models/grouping", "")),
        (
            ("tests/privacy/accounting/test_bounded_range.py", ""),
            ("tests/methods/test_mst.py", ""),
            ("tests/methods/test_aim.py", ""),
            ("tests/models/test_grouping.py", ""),
        ),
    ),
    11: Theorem(
        "persons",
        "If at most k rows of a person take part, a Gaussian release of mu for a row is k mu for the person, a Poisson-sampled Gaussian is "
        "dominated by the mixture with Binomial(k, q) weights, and a choice has k times its range.",
        {"k": "rows_per_person"},
        ((f"{ACCOUNTING}/group_forms.py", ""), (f"{ACCOUNTING}/persons.py", ""), ("workbench/datasets/person_rows.py", "")),
        (("tests/methods/test_persons.py", ""),),
    ),
    12: Theorem(
        "a part drawn in secret",
        "If critics of K disjoint parts learn by a public schedule, and each step releases the clipped gradients of B images by one critic "
        "that a fresh secret coin picks, with noise 2 C s, one step has delta(eps) <= q delta_mu(log(1 + (e^eps - 1)/q)) for eps >= 0, "
        "q = 1/K and mu = sqrt(B)/s, and T steps compose.",
        {"q": "1 / critics.parts", "mu": "sqrt(release.batch_size) / release.noise_multiplier"},
        (
            (f"{ACCOUNTING}/events.py", "DrawnPartGaussianDpEvent"),
            ("workbench/training/parts.py", "Parts"),
            ("workbench/methods/gs_wgan/method.py", "release_stage"),
            ("workbench/methods/gs_wgan/training.py", "Training"),
        ),
        (
            ("tests/methods/test_gs_wgan.py", ""),
            ("tests/training/test_parts.py", ""),
            ("tests/support/mechanism/checks.py", "drawn_part"),
        ),
    ),
    13: Theorem(
        "teachers that vote",
        "If teachers of K disjoint parts vote about generated images, R rounds of votes with Gaussian noise of deviation s are mu-GDP with "
        "mu = sqrt(R v) / s, under replace special and replace one alike, where sqrt(v) is how far one teacher moves the votes of a round; "
        "a label with discrete Laplace noise of scale b is (1/b, 0)-DP. An epsilon by the true votes has no finite epsilon as a release.",
        {
            "v of pate-gan": "L = student.updates * training.batch_size; Laplace noise: 1 a label",
            "v of g-pate": "B p (2 + 1/test_noise^2), or 2 B p without tests",
            "v of datalens": "4 k B, k = top",
            "a record of two parts": "2 mu: an exact 1 is 2.155, an exact 10 is 24.39",
        },
        (
            ("workbench/models/teachers/config.py", "gaussian_votes"),
            ("workbench/models/teachers/ensemble.py", "PartsInPlace"),
            ("workbench/models/teachers/ensemble.py", "Discriminators"),
            ("workbench/models/teachers/ensemble.py", "noisy_votes"),
            ("workbench/training/parts.py", "Parts"),
            ("workbench/training/discrete_laplace.py", "discrete_laplace"),
            ("workbench/methods/pate_gan/method.py", "laplace_votes"),
            ("workbench/methods/g_pate/method.py", "changes"),
            ("workbench/methods/g_pate/training.py", "histograms"),
            ("workbench/methods/datalens/method.py", "changes"),
            ("workbench/methods/datalens/training.py", "signs"),
            (f"{ACCOUNTING}/stages.py", "quiet_stage"),
            ("workbench/privacy/not_dp/vote_gaps.py", "VoteGapEpsilon"),
        ),
        (
            ("tests/methods/test_pate_gan.py", "test_a_record_changes_its_own_teacher_and_no_other_to_the_last_bit"),
            ("tests/methods/test_pate_gan.py", "test_laplace_votes_cost_what_pure_composition_says"),
            ("tests/methods/test_pate_gan.py", "test_gaussian_votes_are_exact_whatever_a_round_holds"),
            ("tests/methods/test_g_pate.py", "test_one_teacher_moves_two_bins_of_every_query_and_the_largest_count_by_one"),
            ("tests/methods/test_datalens.py", "test_votes_are_top_signs_and_turned_round_move_by_two_roots_of_k"),
            ("tests/methods/test_datalens.py", "test_a_record_of_two_teachers_doubles_the_distance"),
            ("tests/training/test_parts.py", ""),
            ("tests/training/test_discrete_laplace.py", ""),
            ("tests/privacy/not_dp/test_vote_gaps.py", "test_one_teacher_near_a_tie_moves_a_moment"),
            ("tests/runs/test_vote_gaps.py", "test_it_is_in_nothing_that_leaves_and_in_no_list"),
            ("tests/support/mechanism/quiet.py", "moved_by_parts"),
            ("tests/support/mechanism/checks.py", "laplace_counts"),
        ),
    ),
}


def proof_pages(text: str) -> dict[str, str]:
    """The pages by their names: one a section of the document, and the page that lists them."""
    head, *sections = re.split(r"^## (?=\d+\. )", text, flags=re.MULTILINE)
    pages = {"index": f"{head.rstrip()}\n\n```{{toctree}}\n:maxdepth: 1\n:glob:\n\n[0-9]*\n```\n"}
    for section in sections:
        title, body = section.split("\n", 1)
        number = int(title.partition(".")[0])
        pages[f"{number:02d}"] = _page(number, title, body.strip())
    return pages


def _page(number: int, title: str, body: str) -> str:
    theorem = THEOREMS[number]
    constants = ["**Constants**", "", *(f"- {name}: {value}" for name, value in theorem.constants.items()), ""] if theorem.constants else []
    code = ["**Code**", "", *(f"- {place(*named)}" for named in theorem.code), ""]
    tests = ["**Tests that hold it**", "", *(f"- {place(*named)}" for named in theorem.tests), ""]
    stated = [f"::::{{prf:theorem}} {theorem.title}", f":label: theorem-{number}", "", theorem.statement, "::::", ""]
    proof = ["::::{prf:proof}", body, "::::", ""]
    return "\n".join([f"# {title}", "", *stated, *constants, *code, *tests, "## Proof", "", *proof])


def place(path: str, name: str) -> str:
    """`path:line` of what is defined there under `name`, or the path alone; refuses what is not there."""
    file = ROOT / path
    if not file.exists():
        raise FileNotFoundError(f"Expected {path}, which a proof names.")
    if not name:
        return f"`{path}`"
    kinds = (ast.FunctionDef, ast.ClassDef)
    lines = [node.lineno for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, kinds) and node.name == name]
    if not lines:
        raise LookupError(f"Expected {name} in {path}, which a proof names.")
    return f"`{path}:{lines[0]}` (`{name}`)"
