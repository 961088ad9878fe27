"""Studies: models x hardware x workloads x prices x assumptions, here or elsewhere.

A study is cut into numbered chunks of its spaces. Any executor evaluates them; each
comes back as the front of its candidates with their count and checksum, and is written
as one Parquet file at once. A study that was stopped goes on where it was.
"""
