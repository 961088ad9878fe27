"""Training: what one run does, and which cluster finishes it in time.

`evaluate` answers for one configuration, `train` buys a cluster; the formulas are those
of docs/reference/training.md.
"""
