"""Seeds that people give, or that are drawn for them: whole numbers that every library which draws by them takes."""

import secrets
from typing import Annotated

from pydantic import Field

LARGEST_SEED = 2**32 - 1  # scikit-learn takes no larger one
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


def drawn_seed() -> int:
    """A seed from the operating system."""
    return secrets.randbelow(LARGEST_SEED + 1)
