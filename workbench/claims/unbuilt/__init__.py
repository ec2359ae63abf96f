"""Papers and published codes that are not built, with their formula, their numbers and what is proved of them."""

from workbench.claims.row import ClaimEntry
from workbench.claims.unbuilt import coded, named

UNBUILT: dict[str, ClaimEntry] = {
    "datalens-coded": coded.DATALENS,
    "pate-gan-coded": coded.PATE_GAN,
    "ganobfuscator": named.GAN_OBFUSCATOR,
    "dp-gan-zhang": named.ZHANG_DP_GAN,
    "dpaf": named.DPAF,
    "dpd-fvae": named.DPD_FVAE,
    "dp2-vae": named.DP2_VAE,
    "dppm": named.PROBABILISTIC_MODELS,
}
