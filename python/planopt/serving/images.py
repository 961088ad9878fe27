"""Images in prompts: the tokens that they add, and what encodes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt.documents.parts import Assumed

if TYPE_CHECKING:
    from planopt.options import Asked

__all__ = ["read_images"]

IMAGES = ("image_tokens", "encoder_parameters", "patches_per_token")


def read_images(asked: Asked, assumed: list[Assumed]) -> dict[str, Any]:
    """Read what images add to a prompt, by the names of a candidate; empty if nothing.

    The patches of a token are told as assumed where they were not given.
    """
    if asked.given.keys().isdisjoint(IMAGES):
        return {}
    tokens = asked.count("image_tokens")
    parameters = asked.quantity("encoder_parameters")
    each = asked.count("patches_per_token")
    for name, accepted in (
        ("image_tokens", "tokens that the images of a prompt become, such as 1024"),
        ("encoder_parameters", "parameters of what encodes them, such as 0.6B"),
    ):
        if name not in asked.given:
            asked.problem(
                "E005",
                "images are tokens of a prompt and an encoder that makes them",
                option=name,
                accepted=accepted,
            )
    if "patches_per_token" not in asked.given:
        assumed.append(Assumed(name="patches of a token of an image", value=str(each)))
    return {
        "image_tokens": tokens,
        "image_patches": float((tokens or 0) * (each or 0)),
        "encoder_parameters": parameters,
    }
