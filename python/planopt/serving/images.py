"""Images in prompts: the tokens that they add, and what encodes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from planopt.documents.parts import Assumed

if TYPE_CHECKING:
    from planopt.options import OptionReader, TextOrNumber

__all__ = ["ImageOptions", "read_images"]

PATCHES_PER_TOKEN = 4
"""Two by two patches are merged into one token (Qwen2-VL, arXiv 2409.12191)."""


class ImageOptions(TypedDict, total=False):
    """Options of images in prompts, as they were given."""

    image_tokens: TextOrNumber | None
    encoder_parameters: TextOrNumber | None
    patches_per_token: TextOrNumber | None


def read_images(
    reader: OptionReader, assumed: list[Assumed], options: ImageOptions
) -> dict[str, Any]:
    """Read what images add to a prompt, by the names of a candidate; empty if nothing.

    The patches of a token are told as assumed where they were not given.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if not given.keys() & ImageOptions.__optional_keys__:
        return {}
    tokens = reader.count("image_tokens", options.get("image_tokens"))
    parameters = reader.quantity(
        "encoder_parameters", options.get("encoder_parameters"), "count", least=1
    )
    each = reader.count("patches_per_token", options.get("patches_per_token"))
    for name, accepted in (
        ("image_tokens", "tokens that the images of a prompt become, such as 1024"),
        ("encoder_parameters", "parameters of what encodes them, such as 0.6B"),
    ):
        if name not in given:
            reader.problem(
                "E005",
                "images are tokens of a prompt and an encoder that makes them",
                option=name,
                accepted=accepted,
            )
    if "patches_per_token" not in given:
        each = PATCHES_PER_TOKEN
        assumed.append(Assumed(name="patches of a token of an image", value=str(each)))
    return {
        "image_tokens": tokens,
        "image_patches": float((tokens or 0) * (each or 0)),
        "encoder_parameters": parameters,
    }
