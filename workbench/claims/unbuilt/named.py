"""Papers that the others name in passing: what kind of method each is, and that our notes hold no formula of it."""

from workbench.claims.unbuilt.bare import BareClaim

NO_FORMULA = "It is not built, and our notes hold no formula of its paper. Nothing is claimed or proved here in its place."

GAN_OBFUSCATOR = BareClaim("GANobfuscator", "Xu et al. 2019, named by the papers; a GAN trained with noise on its gradients", NO_FORMULA)
ZHANG_DP_GAN = BareClaim("dp-GAN of Zhang, Ji and Wang", "2018, named by the papers; a GAN trained privately", NO_FORMULA)
DPAF = BareClaim("DPAF", "Lin et al. 2023, named by the papers; a GAN whose forward pass aggregates features with noise", NO_FORMULA)
DPD_FVAE = BareClaim(
    "DPD-fVAE", "Pfitzner and Arnrich 2022, named by the papers; a federated VAE of which the decoder is trained privately", NO_FORMULA
)
DP2_VAE = BareClaim("DP2-VAE", "Jiang et al. 2022, named by the papers; a VAE that is pre-trained on private records", NO_FORMULA)
PROBABILISTIC_MODELS = BareClaim(
    "DPPM", "Liu et al. 2023, named by the papers; a probabilistic model trained by randomized response, Hamiltonian samples", NO_FORMULA
)
