"""The workbench's words and what they mean: `workbench help`, the pages' Words and their question marks, and the glossary show these."""

from collections.abc import Mapping

from workbench.errors import choose

WORDS: Mapping[str, str] = {
    "epsilon": "How much one record can change what is released: no outcome is more than e^epsilon times as likely with the record as "
    "without it, plus delta. At 0 nothing depends on the records; at 1 an outcome is at most 2.7 times as likely, at "
    "10 at most 22 026 times, which rules little out by itself.",
    "delta": "What is left over beyond epsilon: for every set of outcomes, its probability with the record is at most e^epsilon times its "
    "probability without it, plus delta. Take it far below 1/n for n records. The default is 1/(n ln n); a plan shows "
    "epsilon at 1/n^2 beside it.",
    "bound": "An epsilon that is proved for what is released, whatever an attacker knows of the other records: the true one is at most as "
    "large. Where nothing is proved it is infinite, and the plan says why. docs/proofs.md has the proofs.",
    "claim": "The epsilon that a paper states for its method, computed as the paper does. It may differ from the proved bound: "
    "`workbench claims` shows both, and says why.",
    "lower bound": "An epsilon that an attack measured: the true one is at least as large, with the confidence that is stated. An attack "
    "that finds nothing proves nothing.",
    "audit": "An attack on a run with canaries, which measures a lower bound on epsilon at a stated confidence.",
    "canary": "A record of nobody that an audit puts into training by a coin flip.",
    "accountant": "A calculation that bounds what many releases cost together.",
    "neighbours": "Data sets that differ in one record. ADD_OR_REMOVE_ONE: one of them has a record more. REPLACE_SPECIAL: a record is "
    "there or empty, and the number of records is public. REPLACE_ONE: one record is another, which costs about twice the epsilon. "
    "An epsilon means nothing without its relation.",
    "null record": "An empty record: it counts, and adds nothing.",
    "mark": "Whether a value may be shared. 'private': it was computed from the records without noise; do not share it. 'releasable': it "
    "was computed without them, or the proved bound covers it. 'claim only': trained on a paper's claim, with nothing proved.",
    "ledger": "What all runs on the records of the same people have spent together. A run writes what it will spend before it reads a "
    "record, and deleting a run gives nothing back.",
    "seed": "A run with a seed can be repeated, and whoever knows the seed can take the noise away again: nothing of it may be released. A "
    "run without one draws its noise from the operating system.",
    "plan": "What a method will release and what it costs, from public facts alone.",
    "release": "Something computed from private records that leaves the protected process.",
    "stage": "One named release of a plan, with its event and its relation.",
    "request": "The text that says what a person asks for; form, address, command and recipe read and write it.",
    "recipe": "A file of lines whose results are a table in the documents.",
    "line": "One entry of a recipe: a request, with its seeds.",
    "epsilon 0": "What public data alone reach, without a look at the private records. A method that is not above it has spent its budget "
    "for nothing.",
    "floor": "What the simplest private method reaches: `class-moments` for images, `independent-marginals` for tables.",
    "ceiling": "What real training records reach in the same measure, in the place of samples; no synthetic set is expected to do "
    "better. Of measures that tell of copying (privacy_score, nearer_to_training) it is what plain copies reach.",
    "largest class": "The share of the held-out records that are of their most frequent class: the accuracy of always guessing it. An "
    "accuracy that is not above it has learnt nothing of use.",
    "frontier": "The methods that no other beats at the same bound or a smaller one, in one measure.",
    "standard frame": "One place, slant and size that an image is brought to by its moments (moment normalisation), so that shapes can be "
    "compared. The frame that it had is released beside its shape.",
    "joined method": "`selective-pretraining`: a diffusion model that learns what votes chose, refined by private steps.",
    "public images": "Images that you declare to need no protection: they are used without noise, no bound covers them, and samples may "
    "repeat them.",
    "gdp": "An accountant by a central limit theorem: an approximation for many steps, which may say too little. It is exact, and a "
    "bound, for Gaussian releases of all records.",
    "rdp": "An accountant that bounds the moments of the privacy loss (Renyi differential privacy). An upper bound, looser than PLD.",
    "pld": "An accountant that composes the distribution of the privacy loss on a grid, rounded upwards. An upper bound, mostly the "
    "smallest.",
    "mu": "The number of Gaussian differential privacy: to tell whether a record took part is as hard as to tell a normal distribution "
    "of mean 0 from one of mean mu, both of deviation 1. Unlike one epsilon it holds at every delta.",
    "privacy profile": "The smallest epsilon at every delta, as a curve. One epsilon at one delta is a point of it.",
    "clipping norm": "The length to which each record's gradient or vector is cut. It limits what one record can change.",
    "noise multiplier": "The standard deviation of the noise over the clipping norm. Larger is more private.",
    "sampling rate": "The chance of each record to join a batch, each by a coin of its own (Poisson sampling). Smaller is more private "
    "at equal noise.",
    "membership inference": "An attack that guesses whether a record was among the training records.",
    "roc curve": "The true-positive rate of an attack over its false-positive rate, one point a threshold. The area below it (AUC) is 0.5 "
    "for guessing and 1 for an attack that is always right.",
    "pac privacy": "A guarantee for records that are drawn at random: it limits by how much samples raise an attacker's chance of "
    "success, by their mutual information with the records. It protects no single record in the worst case, as differential privacy does.",
    "mutual information": "How much samples tell of the records on average; 0 where they tell nothing.",
    "suspicion": "h / (t + h) of a sample, with t and h its distances from the nearest training and the nearest held-out record: 1 for "
    "a copy, one half where both are as near. It sorts samples and proves nothing.",
    "privacy score": "The share of samples that a classifier puts into another class than their nearest training record (P3DM). Copies "
    "score 0. A high score proves nothing.",
    "kappa": "How far two reviewers agree beyond chance (Cohen): 1 where they always do, 0 where chance would do as well.",
}
ALSO: Mapping[str, str] = {  # other names of the same
    "marks": "mark",
    "upper bound": "bound",
    "paper's claim": "claim",
    "neighbors": "neighbours",
    "neighboring relation": "neighbours",
    "canaries": "canary",
    "seeds": "seed",
    "gaussian differential privacy": "mu",
    "poisson sampling": "sampling rate",
    "auc": "roc curve",
    "cohen's kappa": "kappa",
}


def define(word: str) -> str:
    """What a word means, in plain text with code between backticks; raises WorkbenchError for one that is not known."""
    return choose(ALSO.get(word, word), WORDS, "word")


def glossary() -> str:
    """The page of the documents with every word, in the order of the alphabet."""
    entries = "\n\n".join(f"{word}\n  {WORDS[word]}" for word in sorted(WORDS))
    return f"# Glossary\n\n```{{glossary}}\n{entries}\n```\n"
