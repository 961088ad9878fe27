"""Kinds of entity, as the folders are named: for whoever must not load a catalog."""

KINDS = (
    "accelerators",
    "hosts",
    "links",
    "networks",
    "models",
    "workloads",
    "offers",
    "assumptions",
)
