"""What each proof states: the theorem, its constants, and by name the code that rests on it and the tests that hold it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Theorem:
    """A proof's page: `code` and `tests` name functions and classes by the path of their file, `papers` are keys of docs/references.bib."""

    title: str
    statement: str
    code: Mapping[str, tuple[str, ...]]
    tests: Mapping[str, tuple[str, ...]]
    constants: Mapping[str, str] = field(default_factory=dict)
    papers: tuple[str, ...] = ()


ACCOUNTING = "workbench/privacy/accounting"
THEOREMS: dict[int, Theorem] = {
    1: Theorem(
        "a bound and its neighbours",
        "A plan's bound is a pair (epsilon, delta) such that for all neighbouring data sets D, D' under the stated relation and every set "
        "A of outcomes, P[M(D) in A] <= e^epsilon P[M(D') in A] + delta.",
        {
            f"{ACCOUNTING}/stages.py": ("Stage", "compose"),
            f"{ACCOUNTING}/bounds.py": ("shared_relation", "proved_bound", "replace_one_bound"),
            f"{ACCOUNTING}/zero_out.py": ("zero_out",),
            "workbench/training_data.py": ("check_records",),
        },
        {
            "tests/privacy/test_vectors.py": ("test_value",),
            "tests/privacy/accounting/test_accountants.py": (
                "test_relations_of_compositions",
                "test_plans_report_replace_special_and_replace_one_beside_it",
                "test_no_replace_one_bound_where_one_stage_does_not_hold_under_it",
                "test_embedding_release_is_exact_under_both_relations",
                "test_unproved_combinations_are_refused_by_name",
            ),
            "tests/privacy/accounting/test_events.py": ("test_zero_out_forms", "test_events_without_a_zero_out_form"),
            "tests/test_training_data.py": ("test_records_that_the_bound_does_not_hold_for_are_refused",),
        },
        {"n": "number of records: public, fixed, checked at the start of a run"},
    ),
    2: Theorem(
        "DP-SGD",
        "A run of T steps that draws each record with probability q, clips its gradient to norm C, adds Gaussian noise of deviation sigma "
        "C and divides by a constant is, for a record made null, at least as private as T compositions of the Poisson-sampled Gaussian "
        "mechanism with rate q and multiplier sigma.",
        {
            "workbench/training/dp_sgd.py": ("DPSGD",),
            "workbench/training/private_steps.py": ("PoissonBatches", "PrivateSteps"),
            "workbench/training/private_step.py": ("PrivateStep",),
            "workbench/training/batch_clipping.py": ("BatchClippedStep",),
            "workbench/training/grid.py": ("gradient_grid", "sum_rounding"),
            "workbench/training/streams.py": ("bernoulli", "floored_normal"),
            f"{ACCOUNTING}/accountants/pld.py": ("epsilon", "rounding"),
        },
        {
            "tests/training/test_dp_sgd.py": (
                "test_the_trainer_carries_out_what_the_stage_states",
                "test_every_step_is_spent_before_it_is_taken_and_can_be_taken_alone",
            ),
            "tests/training/test_poisson.py": ("test_every_record_is_drawn_at_the_sampling_rate_and_on_its_own",),
            "tests/training/test_streams.py": ("test_a_record_is_drawn_with_at_most_the_probability_asked_for",),
            "tests/training/test_sensitivity.py": (
                "test_one_record_moves_the_sum_by_at_most_the_clipping_norm",
                "test_float32_sums_of_neighboring_batches_are_no_farther_apart_than_is_assumed",
            ),
            "tests/training/test_mixing.py": ("test_one_record_moves_the_update_by_at_most_two_clipping_norms",),
            "tests/training/test_private_step.py": (
                "test_without_noise_the_step_is_the_clipped_sum_over_the_expected_batch_size",
                "test_the_noise_has_its_standard_deviation_and_is_white",
                "test_a_record_made_null_leaves_the_draws_of_all_others",
                "test_the_noisy_sum_lies_on_the_grid",
            ),
            "tests/training/test_grid.py": ("test_a_private_steps_noise_hides_what_rounding_adds",),
            "tests/methods/test_dp_sinkhorn.py": (
                "test_one_record_moves_the_release_by_two_norms_at_most_and_a_null_one_is_as_good_as_none",
                "test_a_realised_number_of_images_has_a_bound_for_null_records_alone",
            ),
            "tests/privacy/accounting/test_accountants.py": (
                "test_own_distribution_equals_the_library",
                "test_a_lower_bound_never_exceeds_the_bound",
            ),
            "tests/privacy/accounting/test_rounding.py": ("test_epsilon_holds_at_delta_after_all_rounding",),
            "tests/privacy/accounting/test_realised_batch.py": ("test_an_attack_beats_the_claim_only_where_the_divisor_is_realised",),
            "tests/slow/test_float_attack.py": ("test_the_last_bits_tell_of_a_sum_of_floats_and_not_of_one_on_the_grid",),
        },
        {
            "C": "max_grad_norm",
            "sigma": "noise_multiplier",
            "q": "expected batch size over n, rounded down to 2^-64",
            "w": "max(2^-14, B / 2^22)",
        },
        papers=("wang2019",),
    ),
    3: Theorem(
        "a counterexample",
        "The release of every step of dp-promise's phase one with the paper's targets has no finite epsilon at any delta below batch size "
        "over n.",
        {
            "workbench/methods/dp_promise/phases.py": ("stage",),
            "workbench/methods/dp_promise/training.py": ("paper_loss",),
            "workbench/evaluation/refuting/dp_promise.py": ("PaperTargets",),
        },
        {
            "tests/privacy/attacks/test_membership.py": (
                "test_one_mean_gradient_of_32_images_decides_membership",
                "test_a_batch_of_one_is_reconstructed",
                "test_membership_on_mnist",
            ),
            "tests/evaluation/test_refuting.py": (
                "test_a_claim_of_1_is_caught_in_few_trials",
                "test_the_span_holds_members_alone",
            ),
            "tests/methods/test_dp_promise.py": ("test_paper_targets_have_no_bound_and_say_why",),
        },
        {"error of the reconstruction": "3e-13 for members, a tenth of the length or more for others"},
        papers=("wang2024",),
    ),
    4: Theorem(
        "renoised targets",
        "With renoised targets a step of phase one is mu-GDP for a drawn record, amplified by m of n drawn without replacement; all that "
        "follows is post-processing, and both phases compose under replace special.",
        {
            "workbench/methods/dp_promise/phases.py": ("phase_one_distance", "stage", "one_shot_stage", "noised_images"),
            "workbench/methods/dp_promise/training.py": ("renoised_loss", "post_processing_loss", "one_shot_loss"),
            f"{ACCOUNTING}/events.py": ("FixedBatchGaussianDpEvent",),
        },
        {
            "tests/methods/test_dp_promise.py": (
                "test_renoised_bound_is_the_composition_of_both_phases",
                "test_renoised_loss_is_minimal_at_the_true_noise_predictor",
            ),
            "tests/methods/test_one_shot_targets.py": (
                "test_what_happens_is_what_the_stages_state",
                "test_the_release_alone_is_an_exact_gaussian_mechanism",
                "test_copies_are_the_records_under_the_noise_of_the_boundary",
                "test_a_null_record_adds_nothing",
            ),
            "tests/privacy/accounting/test_accountants.py": ("test_small_fixed_batch_profile_by_enumeration",),
            "tests/support/mechanism/checks.py": ("noised_records",),
        },
        {"mu": "2 sqrt(d abar_S / (1 - abar_S))", "m": "the fixed batch size", "S": "the boundary"},
        papers=("wang2024", "dong2022"),
    ),
    5: Theorem(
        "one-shot releases on a grid",
        "The mean embedding with noise multiplier sigma, made in integers with noise floor(2^b N), is exactly a Gaussian mechanism: "
        "mu = 1 / sigma for a record made null and 2 / sigma for a record replaced.",
        {
            "workbench/training/grid.py": ("Grid",),
            "workbench/training/floored_normals.py": ("floored_normals",),
            "workbench/training/randomness.py": ("release",),
            f"{ACCOUNTING}/sampler.py": ("sampler_distance", "sampler_epsilon"),
            "workbench/models/embeddings/config.py": ("embedding_stage",),
            "workbench/models/embeddings/releases.py": ("release", "summed"),
            "workbench/methods/dp_mepf/method.py": ("second_distance",),
            "workbench/methods/dp_hp/method.py": ("pixels_multiplier", "pairs_multiplier"),
            "workbench/methods/dp_kernel/method.py": ("is_published", "stages"),
        },
        {
            "tests/training/test_grid.py": (
                "test_no_vector_is_longer_on_the_grid",
                "test_a_release_lies_on_the_grid_and_is_the_sum_and_the_noise",
            ),
            "tests/training/test_floored_normals.py": (
                "test_the_columns_hold_the_weights_to_the_last_unit",
                "test_what_few_bits_decide_is_what_all_bits_would",
                "test_what_is_drawn_is_the_floored_normal",
            ),
            "tests/methods/test_dp_merf.py": (
                "test_neighboring_sums_differ_by_two_integer_vectors_of_norm_at_most_one",
                "test_the_noise_has_the_deviation_that_the_event_states",
                "test_the_generator_sees_the_release_alone",
            ),
            "tests/methods/test_embeddings.py": (
                "test_a_replaced_record_moves_a_sum_by_at_most_two_and_a_null_one_by_one",
                "test_features_have_a_norm_of_at_most_one_whatever_the_image",
                "test_the_published_noise_has_no_gradient",
            ),
            "tests/methods/test_dp_mepf.py": (
                "test_a_replaced_record_moves_the_mean_of_squares_by_the_root_of_two",
                "test_both_moments_as_published_cost_a_replaced_record_more",
            ),
            "tests/privacy/accounting/test_sampler.py": ("test_the_distance_is_paid_out_of_delta", "test_every_accountant_pays"),
        },
        {"grid": "multiples of sigma / 2^30", "price of a sampler within tau": "(1 + e^epsilon) tau, added to delta"},
        papers=("harder2021", "harder2023", "vinaroz2022", "liew2022"),
    ),
    6: Theorem(
        "what may leave",
        "Samples and weights of a finished run are post-processing of its releases, so they have its bound; the bound covers nothing else "
        "that a run leaves behind.",
        {
            "workbench/marks.py": ("may_leave", "withheld"),
            "workbench/runs/release/export.py": ("contents", "left_out_here", "card_of"),
        },
        {
            "tests/test_marks.py": (
                "test_only_a_measure_that_touches_no_private_record_can_release_its_value",
                "test_the_flow_marks_what_it_measures_of_a_seeded_or_unbounded_state_as_private",
                "test_a_mark_that_is_missing_keeps_the_value_in_the_room",
                "test_what_is_withheld_is_gone_with_its_note",
            ),
            "tests/runs/release/test_release.py": (
                "test_an_export_holds_what_may_leave_and_is_verified_elsewhere",
                "test_every_file_that_a_job_keeps_with_a_run_stays_for_a_reason_of_its_own",
                "test_no_training_record_is_in_an_export",
                "test_nothing_in_an_export_tells_a_time_finer_than_a_day",
                "test_what_has_no_bound_is_refused_unless_it_is_called_not_private",
            ),
        },
    ),
    7: Theorem(
        "the ledger",
        "The total of an account bounds, under replace special, what all runs on its records give away together, if their settings were "
        "fixed in advance.",
        {
            "workbench/privacy/spending/ledger.py": ("Ledger", "charge", "total"),
            "workbench/privacy/spending/totals.py": ("zero_out_total", "zero_out_stage"),
            "workbench/privacy/spending/accounts.py": ("on_account",),
            "workbench/privacy/spending/filters.py": ("passes_filter", "epsilon_at_order"),
        },
        {
            "tests/privacy/spending/test_ledger.py": (
                "test_total_composes_all_runs_finished_or_not_and_any_subset",
                "test_runs_that_choose_settings_count_like_any_other",
                "test_a_replace_one_release_enters_the_total_by_its_zero_out_form",
                "test_both_phases_of_dp_promise_enter_the_total_as_they_are",
                "test_a_stage_without_a_bound_makes_the_total_infinite_by_name",
                "test_a_killed_process_never_leaves_a_count_below_what_it_touched",
            ),
            "tests/privacy/spending/test_accounts.py": (
                "test_every_version_of_the_records_counts_under_the_name",
                "test_equal_records_stay_on_one_account_under_any_name",
            ),
            "tests/privacy/spending/test_filters.py": (
                "test_one_order_is_a_bound_and_no_order_is_below_the_best",
                "test_a_total_counts_every_step_and_a_budget_those_that_were_taken",
                "test_each_order_has_its_part_of_delta",
            ),
        },
    ),
    8: Theorem(
        "votes and moments",
        "R rounds of votes with noise of deviation sigma are mu-GDP with mu = sqrt(R) / sigma under replace special and sqrt(2 R) / sigma "
        "under replace one; class moments with multipliers sigma / sqrt(w_i), sum w_i = 1, are one Gaussian mechanism of multiplier sigma.",
        {
            "workbench/models/selection/config.py": ("round_stage",),
            "workbench/models/selection/spaces.py": ("count_votes", "nearest"),
            "workbench/methods/public_choice/training.py": ("counts",),
            "workbench/methods/class_means/method.py": ("multiplier",),
            "workbench/methods/class_moments/method.py": ("multiplier", "joint_distance"),
            "workbench/methods/class_moments/training.py": ("release_all", "second_moment"),
            "workbench/methods/prior_moments/method.py": ("PriorMoments",),
            "workbench/methods/cluster_moments/method.py": ("multiplier", "replacement_factor"),
            "workbench/methods/cluster_moments/training.py": ("release_clusters", "products_by_group"),
            "workbench/models/reframing.py": ("in_standard_frame",),
            "workbench/methods/votes_and_clusters/method.py": ("VotesAndClustersConfig",),
            "workbench/methods/private_classifier/training.py": ("release", "gradients"),
            "workbench/methods/dp_feta/method.py": ("CentralImages",),
            "workbench/methods/privimage/method.py": ("SemanticQuery",),
            "workbench/methods/p3gm/method.py": ("Release", "Centre", "Mixture"),
        },
        {
            "tests/models/test_selection.py": (
                "test_one_record_moves_the_votes_as_far_as_stated",
                "test_the_rounds_bound_is_that_of_gaussian_releases",
                "test_votes_are_the_nearest_in_exact_arithmetic",
                "test_a_vote_does_not_depend_on_who_stands_beside",
            ),
            "tests/methods/test_public_choice.py": ("test_one_record_moves_the_counts_as_far_as_stated",),
            "tests/methods/test_class_means.py": ("test_both_are_one_gaussian_release_of_the_configured_noise",),
            "tests/methods/test_class_moments.py": (
                "test_the_three_are_one_gaussian_release_of_the_configured_noise",
                "test_one_record_moves_a_release_as_far_as_stated",
                "test_rounding_a_sum_is_paid_by_wider_noise",
            ),
            "tests/methods/test_prior_moments.py": (
                "test_one_record_moves_a_release_as_far_as_stated",
                "test_no_two_records_move_the_three_farther_than_the_joint_distance_and_some_as_far",
                "test_real_releases_are_no_farther_apart_together",
            ),
            "tests/methods/test_cluster_moments.py": (
                "test_the_four_releases_are_one_gaussian_mechanism_whatever_the_rounds",
                "test_one_record_moves_a_release_no_farther_than_stated",
                "test_what_is_made_of_a_record_does_not_depend_on_the_others_to_the_bit",
            ),
            "tests/models/test_frames.py": ("test_an_image_is_brought_there_alike_alone_and_in_company",),
            "tests/methods/test_votes_and_clusters.py": ("test_both_are_one_gaussian_mechanism_whatever_the_share",),
            "tests/methods/test_private_classifier.py": (
                "test_all_steps_are_one_gaussian_mechanism",
                "test_one_record_moves_the_sum_by_the_norm_and_replaced_by_twice_that",
            ),
            "tests/methods/test_dp_feta.py": (
                "test_one_record_moves_a_release_as_far_as_stated_and_some_as_far",
                "test_means_over_what_was_drawn_have_the_bound_of_a_record_alone_in_its_class",
            ),
            "tests/methods/test_privimage.py": (
                "test_one_record_moves_the_counts_as_far_as_stated_and_some_as_far",
                "test_a_known_seed_gives_the_exact_counts_to_whoever_subtracts_its_noise",
            ),
            "tests/methods/test_p3gm.py": (
                "test_one_record_moves_a_release_as_far_as_stated_and_some_as_far",
                "test_the_exact_mean_has_no_bound",
            ),
        },
        {"moves of a vote": "1 and sqrt 2", "moves of a second moment": "C^2 and sqrt 2 C^2", "shares": ".6, .05, .35; replace one 2.414"},
    ),
    9: Theorem(
        "distillation and responses",
        "DP-SAD's sound mode is the composition of its teacher's and its student's DP-SGD. Equation 15 is a Gaussian mechanism of "
        "multiplier sigma / (2 B T) in each step. A randomised response that is a record verbatim has no finite epsilon for small deltas.",
        {
            "workbench/methods/dp_sad/method.py": ("sound_stages", "paper_stages", "PaperStudent"),
            "workbench/models/recovery/config.py": ("stages", "keep_probability"),
            "workbench/models/recovery/triples.py": ("make_triples",),
            "workbench/evaluation/refuting/recovery.py": ("Responses",),
        },
        {
            "tests/methods/test_dp_sad.py": (
                "test_a_private_teacher_and_the_student_compose",
                "test_the_bound_of_equation_15_is_that_of_its_own_noise",
                "test_noise_over_t_is_what_a_step_of_the_paper_adds",
                "test_equation_17_clips_the_derivative_by_what_losses_compare",
            ),
            "tests/models/test_recovery.py": ("test_frequencies_of_randomised_response", "test_one_triple_gives_a_record_away"),
            "tests/evaluation/test_refuting.py": ("test_a_claim_of_1_is_caught_in_few_trials",),
        },
        {"multiplier of one record's own term": "sigma / T"},
        papers=("liu2024", "chen2022dpgen", "xu2024"),
    ),
    10: Theorem(
        "choices of bounded range",
        "A choice with weights exp(eps_0 s / 2), where making a record null moves every score s by at most 1, has range eps_0. k such "
        "choices cost exactly delta_k = T^k V_0, and any interleaving with other mechanisms costs at most the composition with the pair of "
        "that profile.",
        {
            f"{ACCOUNTING}/bounded_range.py": ("bounded_range_delta", "adaptive_delta", "adaptive_grid"),
            f"{ACCOUNTING}/events.py": ("ExponentialMechanismDpEvent",),
            "workbench/training/exponential.py": ("choice_distance", "weighted_choice", "weights"),
            "workbench/methods/mst/training.py": ("choose_pairs", "scores"),
            "workbench/methods/aim/training.py": ("choose", "scores"),
            "workbench/models/grouping/releases.py": ("scores",),
            "workbench/models/grouping/stages.py": ("stages",),
            "workbench/training/marginals.py": ("marginals_stage",),
        },
        {
            "tests/privacy/accounting/test_bounded_range.py": (
                "test_the_profile_is_the_largest_of_all_pairs_of_two_losses",
                "test_the_adaptive_profile_is_the_largest_that_an_adversary_reaches",
                "test_gaussians_before_between_and_after_choices_cost_no_more_than_the_composition",
                "test_choices_of_one_range_are_one_block_and_of_others_only_those_that_follow_one_another",
            ),
            "tests/training/test_exponential.py": (
                "test_weights_are_the_exponentials_to_within_one_part_in_2_to_the_255",
                "test_each_is_drawn_as_often_as_its_weight",
            ),
            "tests/methods/test_aim.py": ("test_a_row_moves_scores_by_at_most_one_and_another_in_its_place_by_at_most_two",),
            "tests/models/test_grouping.py": (
                "test_a_score_is_the_difference_of_the_sides_and_moves_by_one_at_most",
                "test_the_harness_finds_a_rate_that_is_doubled",
            ),
            "tests/methods/test_tab_pe.py": ("test_every_record_votes_once_for_the_nearest_row_of_its_class_and_a_null_one_for_none",),
            "tests/methods/test_mechanism.py": ("test_what_happens_is_what_the_stages_state",),
            "tests/support/mechanism/checks.py": ("weighted_choice",),
        },
        {"delta of one choice": "(1 - e^((eps - r)/2))^2 / (1 - e^-r) for |eps| <= r", "grid": "r / 64", "weights": "multiples of 2^-256"},
    ),
    11: Theorem(
        "persons",
        "If at most k rows of a person take part, a Gaussian release of mu for a row is k mu for the person, a Poisson-sampled Gaussian is "
        "dominated by the mixture with Binomial(k, q) weights, and a choice has k times its range.",
        {
            f"{ACCOUNTING}/group_forms.py": ("_exact", "_sampled", "_ranged"),
            f"{ACCOUNTING}/persons.py": ("of_persons", "person_of"),
            f"{ACCOUNTING}/events.py": ("PersonDpEvent",),
            "workbench/datasets/person_rows.py": ("PersonRows",),
        },
        {
            "tests/privacy/accounting/test_persons.py": (
                "test_a_gaussian_release_moves_k_times_as_far",
                "test_sampled_rows_are_a_binomial_mixture",
                "test_a_choice_has_k_times_the_range",
                "test_what_has_no_form_is_infinite_with_the_reason_and_one_row_needs_none",
                "test_together_a_person_is_protected_only_where_every_run_protects_the_same",
            ),
            "tests/methods/test_persons.py": (
                "test_a_person_replaced_or_made_null_moves_no_release_further_than_is_stated",
                "test_counts_move_as_far_as_is_stated_and_further_than_fewer_rows_could",
                "test_a_fit_takes_the_rows_that_its_own_key_draws",
            ),
        },
        {"k": "rows_per_person"},
    ),
    12: Theorem(
        "a part drawn in secret",
        "If critics of K disjoint parts learn by a public schedule, and each step releases the clipped gradients of B images by one critic "
        "that a fresh secret coin picks, with noise 2 C s, one step has delta(eps) <= q delta_mu(log(1 + (e^eps - 1)/q)) for eps >= 0, "
        "q = 1/K and mu = sqrt(B)/s, and T steps compose.",
        {
            f"{ACCOUNTING}/events.py": ("DrawnPartGaussianDpEvent",),
            "workbench/training/parts.py": ("Parts",),
            "workbench/methods/gs_wgan/method.py": ("release_stage",),
            "workbench/methods/gs_wgan/training.py": ("Training",),
        },
        {
            "tests/methods/test_gs_wgan.py": (
                "test_bounds_are_those_computed_elsewhere",
                "test_opposite_critics_are_as_far_apart_as_stated_and_none_farther",
                "test_a_replaced_record_moves_the_released_gradients_by_the_stated_distance_at_most",
                "test_who_learns_is_public_and_no_draw_decides_it",
                "test_a_secret_draw_is_told_by_the_release_alone",
                "test_noise_has_the_deviation_of_the_event",
            ),
            "tests/training/test_parts.py": ("test_every_record_is_in_one_part_and_sizes_differ_by_one_at_most",),
            "tests/support/mechanism/checks.py": ("drawn_part",),
        },
        {"q": "1 / critics.parts", "mu": "sqrt(release.batch_size) / release.noise_multiplier"},
        papers=("chen2020",),
    ),
    13: Theorem(
        "teachers that vote",
        "If teachers of K disjoint parts vote about generated images, R rounds of votes with Gaussian noise of deviation s are mu-GDP with "
        "mu = sqrt(R v) / s, under replace special and replace one alike, where sqrt(v) is how far one teacher moves the votes of a round; "
        "a label with discrete Laplace noise of scale b is (1/b, 0)-DP. An epsilon by the true votes has no finite epsilon as a release.",
        {
            "workbench/models/teachers/config.py": ("gaussian_votes",),
            "workbench/models/teachers/ensemble.py": ("PartsInPlace", "Discriminators", "noisy_votes"),
            "workbench/training/parts.py": ("Parts",),
            "workbench/training/discrete_laplace.py": ("discrete_laplace",),
            "workbench/methods/pate_gan/method.py": ("laplace_votes",),
            "workbench/methods/g_pate/method.py": ("changes",),
            "workbench/methods/g_pate/training.py": ("histograms",),
            "workbench/methods/datalens/method.py": ("changes",),
            "workbench/methods/datalens/training.py": ("signs",),
            f"{ACCOUNTING}/stages.py": ("quiet_stage",),
            "workbench/privacy/not_dp/vote_gaps.py": ("VoteGapEpsilon",),
        },
        {
            "tests/methods/test_pate_gan.py": (
                "test_a_record_changes_its_own_teacher_and_no_other_to_the_last_bit",
                "test_laplace_votes_cost_what_pure_composition_says",
                "test_gaussian_votes_are_exact_whatever_a_round_holds",
            ),
            "tests/methods/test_g_pate.py": ("test_one_teacher_moves_two_bins_of_every_query_and_the_largest_count_by_one",),
            "tests/methods/test_datalens.py": (
                "test_votes_are_top_signs_and_turned_round_move_by_two_roots_of_k",
                "test_a_record_of_two_teachers_doubles_the_distance",
            ),
            "tests/training/test_parts.py": ("test_every_record_is_in_one_part_and_sizes_differ_by_one_at_most",),
            "tests/training/test_discrete_laplace.py": (
                "test_noise_has_the_stated_law",
                "test_coins_fall_as_often_as_an_exponential_says",
            ),
            "tests/privacy/not_dp/test_vote_gaps.py": ("test_one_teacher_near_a_tie_moves_a_moment",),
            "tests/runs/test_vote_gaps.py": ("test_it_is_in_nothing_that_leaves_and_in_no_list",),
            "tests/support/mechanism/quiet.py": ("moved_by_parts",),
            "tests/support/mechanism/checks.py": ("laplace_counts",),
        },
        {
            "v of pate-gan": "L = student.updates * training.batch_size; Laplace noise: 1 a label",
            "v of g-pate": "B p (2 + 1/test_noise^2), or 2 B p without tests",
            "v of datalens": "4 k B, k = top",
            "a record of two parts": "2 mu: an exact 1 is 2.155, an exact 10 is 24.39",
        },
        papers=("jordon2019", "long2021", "wang2021", "papernot2017", "papernot2018"),
    ),
}
