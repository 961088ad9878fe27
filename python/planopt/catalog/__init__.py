"""What can be bought or evaluated: the bundled catalog and what is laid over it."""

KINDS = (
    *("accelerators", "hosts", "links", "networks"),
    *("models", "workloads", "offers", "assumptions"),
)
"""Kinds of entity, as the folders are named: for whoever must not load a catalog."""
