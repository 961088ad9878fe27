"""A study that takes a second."""

STUDY = """
about = "a few candidates"

[study]
chunk = 500
models = ["llama-2-7b", "llama-2-13b"]
prices = [{ electricity_usd_per_kwh = 0.05 }, { electricity_usd_per_kwh = 0.3 }]

[space]
kind = "training"
accelerators = ["a100-sxm-80", "h100-sxm"]
hosts = ["hgx-8"]
networks = ["infiniband-400g"]
tp = [1, 2, 4]
sequence_parallel = [true]
micro_batch = [1, 4]
pipeline = [[1, 1], [2, 1], [4, 1]]
recompute = ["none", "full"]
dp = [8, 16, 32]
shard = ["zero1", "zero3"]
rounds = 9
max_accelerators = 1024

[space.run]
model = "llama-2-13b"
accelerator = "h100-sxm"
seq_len = 4096
tokens = 1e12
"""
