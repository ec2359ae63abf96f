"""Papers that the others cite and whose formula our notes do not hold."""

NO_FORMULA = "Our notes hold no formula of this paper. Nothing is claimed or proved here in its place."
