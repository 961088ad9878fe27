"""What can be bought or evaluated: the bundled catalog and what is laid over it."""
