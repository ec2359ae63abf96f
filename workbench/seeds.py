"""Seeds that people give: whole numbers that every library which draws by them takes."""

from typing import Annotated

from pydantic import Field

LARGEST_SEED = 2**32 - 1  # scikit-learn takes no larger one
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
