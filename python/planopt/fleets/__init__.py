"""Fleets: one plan of purchases and rentals for several models and workloads together.

`problem` says what is sought, in whole numbers; `selection` and `mix` state it as
integer programmes, and `stages` solves one after the other; `exact` adds every answer
up again. `read` and `templates` make a problem of a fleet file, `plan` a document of an
answer.
"""
