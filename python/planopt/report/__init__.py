"""What people read: plans, evaluations, comparisons and catalogs as aligned text.

Each module is imported by whoever prints with it: a command loads its own report alone.
"""
