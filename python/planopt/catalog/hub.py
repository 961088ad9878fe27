"""Models of Hugging Face's Hub, asked only where somebody says so."""

from __future__ import annotations

import re
from pathlib import Path

from planopt.errors import InputError, needing

FILES = ("config.json", "model.safetensors.index.json")
"""What says the shape of a model, and how many bytes are stored."""
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def is_repository(name: str) -> bool:
    """Whether a name can be one of the Hub: an owner and a repository."""
    return _REPOSITORY.fullmatch(name) is not None


def fetched(repository: str) -> str:
    """Fetch what says the shape of a model; return the folder of the cache.

    Without `huggingface_hub` it is E905; E006 where the Hub does not give the files.
    """
    accepted = "a config.json on this machine, which needs no package"
    told = {"field": "--online", "value": repository}
    with needing("huggingface_hub", "online", accepted=accepted, **told):
        from huggingface_hub import snapshot_download
    try:
        found = Path(snapshot_download(repository, allow_patterns=[*FILES]))
        return str(found.parents[1])  # What stands in its cache for the repository.
    # Its errors share no class: those of HTTP, of names, and of its cache.
    except Exception as error:
        raise InputError.of(
            "E006",
            "the Hub does not give this model: "
            + (str(error).strip() or type(error).__name__).splitlines()[0],
            field="--model",
            value=repository,
            accepted="a repository with a config.json that one may read",
            help="for a model behind a licence, log in with `hf auth login`",
        ) from error
