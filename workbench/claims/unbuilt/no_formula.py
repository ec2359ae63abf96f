"""Papers that the others cite and whose formula our notes do not hold."""

from workbench.claims.unbuilt.bare import BareClaim

NO_FORMULA = "Our notes hold no formula of this paper. Nothing is claimed or proved here in its place."

DP_GAN = BareClaim("DP-GAN and DP-CGAN", "cited by the papers; DP-SGD on a discriminator", NO_FORMULA)
GS_WGAN = BareClaim("GS-WGAN", "cited by the papers; sanitised gradients of a generator", NO_FORMULA)
