"""Papers that are not built: one file a paper, with its formula, its numbers and what is proved of it. Its file moves when it is built."""

from workbench.claims.row import ClaimEntry
from workbench.claims.unbuilt import dp_ldm, named, no_formula

UNBUILT: dict[str, ClaimEntry] = {
    "dp-ldm": dp_ldm.CLAIM,
    "dp-gan": no_formula.DP_GAN,
    "gs-wgan": no_formula.GS_WGAN,
    "pate-gan": no_formula.PATE_GAN,
    "g-pate": no_formula.G_PATE,
    "datalens": no_formula.DATALENS,
    "ganobfuscator": named.GAN_OBFUSCATOR,
    "dp-gan-zhang": named.ZHANG_DP_GAN,
    "dpaf": named.DPAF,
    "dpd-fvae": named.DPD_FVAE,
    "dp2-vae": named.DP2_VAE,
    "dppm": named.PROBABILISTIC_MODELS,
}
