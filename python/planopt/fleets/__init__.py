"""Fleets: one plan of purchases and rentals for several models and workloads together.

`question` makes a problem in whole numbers of a fleet file; `programme` and `cover`
state it as integer programmes, and `stages` solves one after the other; `problem` adds
every answer up again, and `plan` makes a document of it.
"""
