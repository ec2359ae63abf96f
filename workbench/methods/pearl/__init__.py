"""PEARL (Liew et al. 2022): a noisy characteristic function by class, and a generator fitted to it where it differs most."""

from workbench.methods.pearl.method import PEARL, PEARLConfig

__all__ = ["PEARL", "PEARLConfig"]
