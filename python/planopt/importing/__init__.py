"""Other people's catalogs, as folders to lay over the bundled ones."""

from planopt.importing.dstack import import_dstack
from planopt.importing.huggingface import import_hf
from planopt.importing.skypilot import import_skypilot

__all__ = ["import_dstack", "import_hf", "import_skypilot"]
