"""Models as people have them: folders, Hugging Face's cache, indexes, GGUF headers."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import pytest
from configs import CONFIG

import planopt
from planopt.catalog.open import open_catalog
from planopt.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

PARAMETERS = 8_030_261_248
"""Of Llama 3.1 8B, as its repository says."""
U32, F32, TEXT, LIST = 4, 6, 8, 9
F32_TENSOR, Q4_K, Q6_K = 0, 12, 14
Q4_K_M = 15


def text(words: str) -> bytes:
    said = words.encode()
    return struct.pack("<Q", len(said)) + said


def number(key: str, value: int) -> bytes:
    return text(key) + struct.pack("<II", U32, value)


def pairs(architecture: str = "llama", **changed: int) -> list[bytes]:
    sizes = {
        "embedding_length": 4096,
        "feed_forward_length": 14336,
        "block_count": 32,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
        "context_length": 131072,
        **changed,
    }
    words = struct.pack("<IIQ", LIST, TEXT, 128256) + text("<w>") * 128256
    return [
        text("general.architecture") + struct.pack("<I", TEXT) + text(architecture),
        number("general.file_type", Q4_K_M),
        text("llama.rope.freq_base") + struct.pack("<If", F32, 5e5),
        text("tokenizer.ggml.tokens") + words,
        *(number(f"{architecture}.{key}", value) for key, value in sizes.items()),
    ]


def tensor(name: str, kind: int, *sizes: int) -> bytes:
    shape = struct.pack(f"<I{len(sizes)}Q", len(sizes), *sizes)
    return text(name) + shape + struct.pack("<IQ", kind, 0)


TENSORS = [
    tensor("token_embd.weight", Q4_K, 4096, 128256),
    tensor("output.weight", Q6_K, 4096, 128256),
    tensor("blk.0.attn_norm.weight", F32_TENSOR, 4096),
]


def gguf(known: list[bytes] | None = None, tensors: list[bytes] | None = None) -> bytes:
    known = pairs() if known is None else known
    tensors = TENSORS if tensors is None else tensors
    counts = struct.pack("<IQQ", 3, len(tensors), len(known))
    return b"GGUF" + counts + b"".join([*known, *tensors]) + b"\0" * 64


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        open_catalog().model(str(path))
    return str(error.value)


def test_a_gguf_header_is_a_model(tmp_path: Path) -> None:
    file = tmp_path / "some-model.gguf"
    file.write_bytes(gguf())
    model = open_catalog().model(str(file))
    assert (model.parameters, model.weights, model.id) == (
        PARAMETERS,
        "q4_k_m",
        "some-model",
    )
    asked: Any = {"accelerator": "rtx-4090", "batch": 1}
    found = planopt.evaluate_serving(model=str(file), **asked)
    named = planopt.evaluate_serving(model="llama-3.1-8b", weights="q4_k_m", **asked)
    assert found.memory is not None
    assert named.memory is not None
    assert found.memory.weights_bytes == named.memory.weights_bytes
    # 144 bytes for 256 of the embedding, 210 of the head, 4 for each of the norm.
    stored = 4096 * 128256 * (144 + 210) / 256 + 4 * 4096
    (said,) = (each.value for each in found.assumed if each.name == "weights")
    assert f"{stored / 1e9:.2f} GB are stored" in said
    plan = planopt.solve(model=str(tmp_path), target="20tok/s", load="steady")
    assert plan.deployments


def test_a_head_that_is_not_stored_is_the_embedding(tmp_path: Path) -> None:
    file = tmp_path / "tied.gguf"
    file.write_bytes(gguf(tensors=[TENSORS[0]]))
    assert open_catalog().model(str(file)).parameters == PARAMETERS - 4096 * 128256


HUGE = struct.pack("<Q", 2**63)
WRONG = {
    "empty": (b"", "no header of a GGUF file"),
    "another file": (b"PK\3\4" + b"\0" * 100, "does not begin with GGUF"),
    "version 1": (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "another version"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "another version"),
    "tensors": (b"GGUF" + struct.pack("<I", 3) + HUGE + b"\0" * 8, "more tensors"),
    "pairs": (b"GGUF" + struct.pack("<IQ", 3, 0) + HUGE, "more tensors"),
    "a key": (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + HUGE, "longer than any name"),
    "a list": (
        gguf([text("a") + struct.pack("<IIQ", LIST, U32, 2**63)], []),
        "failed to fill",
    ),
    "lists in lists": (
        gguf([text("a") + struct.pack("<IIQ", LIST, LIST, 1)], []),
        "unknown type",
    ),
    "a type": (gguf([text("a") + struct.pack("<I", 99)], []), "unknown type"),
    "dimensions": (
        gguf(pairs(), [text("a") + struct.pack("<I", 2**31)]),
        "more dimensions",
    ),
    "elements": (
        gguf(pairs(), [tensor("a", F32_TENSOR, 2**40, 2**40)]),
        "larger than any memory",
    ),
    "a tensor": (gguf(pairs(), [tensor("a", 77, 8)]), "unknown type"),
    "nothing": (gguf([], []), "general.architecture is missing"),
    "rwkv7": (gguf(pairs("rwkv7")), "does not know the GGUF architecture `rwkv7`"),
    "experts": (gguf(pairs("qwen3", expert_count=8)), "`qwen3` with experts"),
    "a size": (gguf(pairs(embedding_length=0)), "hidden_size"),
    "a field": (gguf(pairs()[:-2]), "num_key_value_heads"),
}


@pytest.mark.parametrize("what", [each for each in WRONG if each != "a field"])
def test_what_is_no_header_is_refused(what: str, tmp_path: Path) -> None:
    content, said = WRONG[what]
    file = tmp_path / "model.gguf"
    file.write_bytes(content)
    assert said in refused(file)


def test_a_truncated_header_is_refused_at_every_byte(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    known = [each for each in pairs() if b"tokens" not in each]
    whole = gguf([*known, number("llama.vocab_size", 128256)]).removesuffix(b"\0" * 64)
    file.write_bytes(whole)
    assert open_catalog().model(str(file)).parameters == PARAMETERS
    for end in range(0, len(whole), 7):
        file.write_bytes(whole[:end])
        assert "no header of a GGUF file" in refused(file)


def test_folders_and_entries_of_the_cache_are_models(tmp_path: Path) -> None:
    catalog = open_catalog()
    folder = tmp_path / "some-model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    assert catalog.model(str(folder)).parameters == PARAMETERS
    assert catalog.model(str(folder)).id == "some-model"
    entry = tmp_path / "models--an-organisation--a-model"
    for revision, layers in (("0a1b", 32), ("2c3d", 16)):
        kept = entry / "snapshots" / revision
        kept.mkdir(parents=True)
        said = {**CONFIG, "num_hidden_layers": layers}
        (kept / "config.json").write_text(json.dumps(said), "utf-8")
    (entry / "refs").mkdir()
    (entry / "refs" / "main").write_text("0a1b\n")
    assert catalog.model(str(entry)).layers == 32
    assert catalog.model(str(entry)).id == "a-model"
    (entry / "refs" / "main").write_text("../../elsewhere")
    assert "no model" in refused(entry)
    assert "no model" in refused(tmp_path)


def test_an_index_says_how_many_bytes_are_stored(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    index = tmp_path / "model.safetensors.index.json"
    asked: Any = {"model": str(tmp_path), "accelerator": "h100-sxm", "batch": 1}

    def said(total: object) -> list[str]:
        index.write_text(json.dumps({"metadata": {"total_size": total}}), "utf-8")
        found = planopt.evaluate_serving(**asked)
        return [each.value for each in found.assumed if each.name == "weights"]

    assert said(2 * PARAMETERS) == []
    assert said(4 * PARAMETERS) == ["16.06 GB, and 32.12 GB are stored"]
    for content in ("", "[" * 9999, '{"metadata": {}}', '{"metadata": 3}'):
        index.write_text(content, "utf-8")
        assert "does not say how many bytes" in refused(tmp_path)
