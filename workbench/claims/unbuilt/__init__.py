"""Papers that are not built: one file a paper, with its formula, its numbers and what is proved of it. Its file moves when it is built."""

from workbench.claims.row import ClaimEntry
from workbench.claims.unbuilt import named

UNBUILT: dict[str, ClaimEntry] = {
    "ganobfuscator": named.GAN_OBFUSCATOR,
    "dp-gan-zhang": named.ZHANG_DP_GAN,
    "dpaf": named.DPAF,
    "dpd-fvae": named.DPD_FVAE,
    "dp2-vae": named.DP2_VAE,
    "dppm": named.PROBABILISTIC_MODELS,
}
