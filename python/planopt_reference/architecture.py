"""From a model file to the list of its operations (model.md, section 1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from planopt_reference import units
from planopt_reference.operations import (
    AllReduce,
    Attention,
    Division,
    Elementwise,
    LatentAttention,
    MatMul,
    Model,
    Operation,
    StateSpace,
)

Table = Mapping[str, Any]

# Section 1: normalisation kinds and their parameters per element.
_NORM_PARAMETERS: Final = {"rms": 1, "layer": 2, "layer-no-bias": 1}


def _attention(
    table: Table, hidden: int, kv_heads_override: int | None
) -> Attention | LatentAttention:
    heads = units.count(table["heads"])
    if table["kind"] == "latent":
        return LatentAttention(
            heads=heads,
            latent=units.count(table["latent"]),
            rope=units.count(table["rope"]),
            nope=units.count(table["nope"]),
            value=units.count(table["value"]),
            selected=_optional(table, "selected"),
        )
    head_dim = units.count(table.get("head_dim", hidden // heads))
    return Attention(
        heads=heads,
        kv_heads=kv_heads_override or units.count(table["kv_heads"]),
        head_dim=head_dim,
        value_dim=units.count(table.get("value_dim", head_dim)),
        window=_optional(table, "window"),
        selected=_optional(table, "selected"),
        cached=table.get("key_value", "own") != "earlier",
    )


def _optional(table: Table, key: str) -> int | None:
    return units.count(table[key]) if key in table else None


# Section 1, indexers.
def _indexer(table: Table, hidden: int) -> Iterator[Operation]:
    if "indexer" not in table:
        return
    heads = units.count(table["indexer"]["heads"])
    width = units.count(table["indexer"]["head_dim"])
    latent = table["kind"] == "latent"
    inputs = units.count(table.get("query_rank", 0)) or hidden if latent else hidden
    yield _dense("index_query", inputs, heads * width, "replicated")
    columns = width + heads if latent else width
    yield _dense("index_key", hidden, columns, "replicated", norm=2 * width)
    yield Attention(heads, 1, width, 0, window=None, indexes=True)


def _grouped_projections(
    table: Table, attention: Attention, hidden: int
) -> Iterator[Operation]:
    query = attention.heads * attention.head_dim
    columns = query + units.count(table.get("gate", 0))
    name, widths = {
        "own": ("query_key_value", attention.head_dim + attention.value_dim),
        "same": ("query_key", attention.head_dim),
        "earlier": ("query", 0),
    }[table.get("key_value", "own")]
    key_value = attention.kv_heads * widths
    yield MatMul(
        name,
        inputs=hidden,
        outputs=columns + key_value,
        division="heads",
        parameters=hidden * (columns + key_value)
        + (query if table.get("query_bias", False) else 0)
        + (key_value if table.get("key_value_bias", False) else 0)
        + units.count(table.get("query_key_norm", 0))
        + (attention.heads if table.get("sinks", False) else 0),
        query=columns,
        key_value=key_value,
        kv_heads=attention.kv_heads,
    )
    # Section 1: normalised over all heads, not over each.
    if units.count(table.get("query_key_norm", 0)) > 2 * attention.head_dim:
        yield from (AllReduce(1), AllReduce(1))
    yield from _indexer(table, hidden)
    yield attention
    values = attention.heads * attention.value_dim
    yield MatMul(
        "attention_output",
        inputs=values,
        outputs=hidden,
        division="rows",
        parameters=values * hidden + (hidden if table.get("output_bias", False) else 0),
    )


def _state_space(table: Table, hidden: int) -> Iterator[Operation]:
    scan = StateSpace(
        rule=table["kind"],
        normalised=bool(table.get("normalised", True)),
        heads=units.count(table["heads"]),
        head_dim=units.count(table["head_dim"]),
        groups=units.count(table["groups"]),
        state=units.count(table["state"]),
        conv=units.count(table["conv"]),
        chunk=units.count(table["chunk"]),
    )
    yield _dense("mixer_input", hidden, scan.columns - scan.narrow, "columns")
    if scan.narrow:
        yield _dense("mixer_gate_down", hidden, 2 * scan.head_dim, "replicated")
        yield _dense("mixer_gate_up", scan.head_dim, scan.narrow, "columns")
    yield scan
    yield _dense("mixer_output", scan.inner, hidden, "rows")


def _dense(
    name: str, inputs: int, outputs: int, division: Division, norm: int = 0
) -> MatMul:
    """Return a product, with the gains of the normalisation of its outputs."""
    return MatMul(name, inputs, outputs, division, parameters=inputs * outputs + norm)


def _latent_projections(
    table: Table, attention: LatentAttention, hidden: int
) -> Iterator[Operation]:
    heads, latent = attention.heads, attention.latent
    query = heads * (attention.nope + attention.rope)
    if query_rank := units.count(table.get("query_rank", 0)):
        yield _dense("query_down", hidden, query_rank, "replicated", norm=query_rank)
        yield _dense("query_up", query_rank, query, "columns")
    else:
        yield _dense("query", hidden, query, "columns")
    compressed = latent + attention.rope
    yield _dense("key_value_down", hidden, compressed, "replicated", norm=latent)
    key_value = heads * (attention.nope + attention.value)
    yield _dense("key_value_up", latent, key_value, "columns")
    yield from _indexer(table, hidden)
    yield attention
    yield _dense("attention_output", heads * attention.value, hidden, "rows")


def _feed_forward(
    prefix: str,
    hidden: int,
    width: int,
    *,
    gated: bool,
    bias: bool,
    experts: int = 1,
    active: int = 1,
    gate: int = 0,
) -> Iterator[MatMul]:
    columns = 2 * width if gated else width
    yield MatMul(
        f"{prefix}gate_up" if gated else f"{prefix}up",
        inputs=hidden,
        outputs=columns,
        division="columns",
        parameters=experts * (hidden * columns + (columns if bias else 0)) + gate,
        experts=experts,
        active=active,
    )
    yield MatMul(
        f"{prefix}down",
        inputs=width,
        outputs=hidden,
        division="rows",
        parameters=experts * (width * hidden + (hidden if bias else 0)),
        experts=experts,
        active=active,
    )


def _experts(table: Table, hidden: int) -> Iterator[Operation]:
    experts = units.count(table["experts"])
    gated = bool(table["gated"])
    yield MatMul(
        "router",
        inputs=hidden,
        outputs=experts,
        division="replicated",
        parameters=hidden * experts + (experts if table.get("router_bias") else 0),
        quantised=False,
    )
    latent = units.count(table.get("latent", 0))
    if latent:
        yield _dense("latent_down", hidden, latent, "replicated")
    yield from _feed_forward(
        "experts_",
        latent or hidden,
        units.count(table["width"]),
        gated=gated,
        bias=bool(table.get("bias", False)),
        experts=experts,
        active=units.count(table["active"]),
    )
    if latent:
        yield _dense("latent_up", latent, hidden, "replicated")
    if shared_width := units.count(table.get("shared_width", 0)):
        yield from _feed_forward(
            "shared_",
            hidden,
            shared_width,
            gated=gated,
            bias=bool(table.get("bias", False)),
            gate=hidden if table.get("shared_gate", False) else 0,
        )


def _mlp(table: Table, hidden: int) -> Iterator[Operation]:
    if table["kind"] == "experts":
        yield from _experts(table, hidden)
    elif table["kind"] != "none":
        yield from _feed_forward(
            "",
            hidden,
            units.count(table["width"]),
            gated=bool(table["gated"]),
            bias=bool(table.get("bias", False)),
        )


def _nominal(model: Table) -> MatMul:
    """Return the one product of a layer of the seed article's model."""
    depth = units.count(model["nominal_depth"])
    inputs = depth * units.count(model["layers"])
    columns = (units.count(model["nominal_parameters"]) + inputs // 2) // inputs
    return _dense("layer", depth, columns, "columns")


def _block(
    model: Table, table: Table, kv_heads_override: int | None
) -> tuple[Operation, ...]:
    hidden = units.count(model["hidden"])
    all_reduce = AllReduce(hidden)
    if "mlp" not in table:
        attention = _attention(table["attention"], hidden, kv_heads_override)
        return (attention, all_reduce, _nominal(model), all_reduce)
    norms = [_norm(model) for _ in range(units.count(table["norms"]))]
    mixer = [
        operation
        for mixing in _mixers(table)
        for operation in _mixer(mixing, hidden, kv_heads_override)
    ]
    if mixer and not table.get("parallel", False):
        mixer.append(all_reduce)
    feed_forward = list(_mlp(table["mlp"], hidden))
    if feed_forward:
        feed_forward.append(all_reduce)
    return (*norms, *mixer, *feed_forward, *_beside_the_stream(model, table))


# Section 1, small products and further streams.
def _beside_the_stream(model: Table, table: Table) -> Iterator[Operation]:
    for own in table.get("side", []):
        inputs, outputs = units.count(own["inputs"]), units.count(own["outputs"])
        yield _dense("side", inputs, outputs, "replicated")
    if more := units.count(model.get("more_streams", 0)):
        width = (1 + more) * units.count(model["hidden"])
        yield from (Elementwise("streams", width, 0), Elementwise("streams", width, 0))


def _streams(model: Table) -> Iterator[Operation]:
    hidden = units.count(model["hidden"])
    for _ in range(units.count(model.get("more_streams", 0))):
        yield _dense("stream", hidden, hidden, "replicated")


def _mixers(block: Table) -> list[Table]:
    """Return what mixes the tokens of a layer, side by side."""
    return [
        block["attention"],
        *([block["second_mixer"]] if "second_mixer" in block else []),
    ]


def _mixer(
    table: Table, hidden: int, kv_heads_override: int | None
) -> Iterator[Operation]:
    """List what mixes the tokens of a layer, its projections included."""
    if table["kind"] == "none":
        return
    if "chunk" in table:
        yield from _state_space(table, hidden)
        return
    attention = _attention(table, hidden, kv_heads_override)
    if isinstance(attention, Attention):
        yield from _grouped_projections(table, attention, hidden)
    else:
        yield from _latent_projections(table, attention, hidden)


def _norm(model: Table) -> Elementwise:
    hidden = units.count(model["hidden"])
    return Elementwise("norm", hidden, hidden * _NORM_PARAMETERS[model["norm"]])


def _embedding(model: Table) -> Iterator[Operation]:
    hidden, vocabulary = units.count(model["hidden"]), units.count(model["vocabulary"])
    if not vocabulary:
        return
    name = "shared_embedding" if model["tied"] else "embedding"
    yield Elementwise(name, hidden, vocabulary * hidden, by_vocabulary=True)
    yield AllReduce(hidden)
    if positions := units.count(model.get("positions", 0)):
        yield Elementwise("positions", hidden, positions * hidden)
    if model.get("embedding_norm", False):
        yield _norm(model)
    if "layer_embedding" in model:
        width = units.count(model["layer_embedding"]["width"])
        rows, of_all = units.count(model["layer_embedding"]["rows"]), width
        of_all *= units.count(model["layers"])
        yield Elementwise("embedding", of_all, rows * of_all, by_vocabulary=True)
        yield _dense("layer_projection", hidden, of_all, "replicated", norm=width)
    yield from _streams(model)


def _head(model: Table, *, shared: bool = False) -> Iterator[Operation]:
    hidden, vocabulary = units.count(model["hidden"]), units.count(model["vocabulary"])
    yield from _streams(model)
    if model.get("final_norm", True):
        yield _norm(model)
    matrix = 0 if model["tied"] else hidden * vocabulary
    bias = vocabulary if model.get("head_bias", False) else 0
    if vocabulary:
        yield MatMul(
            "head",
            inputs=hidden,
            outputs=vocabulary,
            division="columns",
            parameters=0 if shared else matrix + bias,
            quantised=False,
        )


# Section 1, "A module of multi-token prediction".
def _mtp_entry(model: Table) -> Iterator[Operation]:
    hidden = units.count(model["hidden"])
    if units.count(model["vocabulary"]):
        yield Elementwise("embedding", hidden, 0, by_vocabulary=True)
        yield AllReduce(hidden)
    yield _norm(model)
    yield _norm(model)
    projection = _dense("mtp_projection", 2 * hidden, hidden, "columns")
    yield replace(projection, quantised=False)
    yield AllReduce(hidden)


def _block_of_each_layer(model: Table) -> list[int]:
    if "layer_blocks" in model:
        return list(model["layer_blocks"])
    pattern = model.get("pattern", [0])
    return [pattern[i % len(pattern)] for i in range(units.count(model["layers"]))]


def _mtp_kinds(model: Table) -> list[int]:
    return list(model.get("mtp_layers", _block_of_each_layer(model)[-1:]))


# Section 1: "`t` must divide".
def _heads(table: Table) -> int:
    """Return what ranks divide a mixer by: heads, groups of them, or nothing (0)."""
    if table["kind"] == "none":
        return 0
    return units.count(table["groups" if "chunk" in table else "heads"])


def _quantised_experts_only(
    operations: Iterable[Operation],
) -> tuple[Operation, ...]:
    return tuple(
        replace(operation, quantised=False)
        if isinstance(operation, MatMul) and operation.experts == 1
        else operation
        for operation in operations
    )


def model_from_table(table: Table, *, kv_heads: int | None = None) -> Model:
    """List the operations of a model.

    Parameters
    ----------
    table : mapping
        A model in the shape of a model file (docs/reference/catalogs.md), whether it
        was read from one or from the `architecture` that a plan embeds.
    kv_heads : int, optional
        Key/value heads in place of the model's own.

    Returns
    -------
    Model
        Its operations.

    Raises
    ------
    KeyError, planopt_reference.units.UnitError
        If a figure is missing or is not a whole number.
    """
    blocks = [_block(table, block, kv_heads) for block in table["block"]]
    if table.get("only_experts_quantised", False):
        blocks = [_quantised_experts_only(block) for block in blocks]
    return Model(
        id=table["id"],
        hidden=units.count(table["hidden"]),
        heads=tuple(
            _heads(mixing) for block in table["block"] for mixing in _mixers(block)
        ),
        vocabulary=units.count(table["vocabulary"]),
        tied=bool(table.get("tied", False)),
        weights=str(units.unwrapped(table["weights"])),
        embedding=tuple(_embedding(table)),
        layers=tuple(blocks[kind] for kind in _block_of_each_layer(table)),
        head=tuple(_head(table)),
        mtp_modules=units.count(table.get("mtp_modules", 0)),
        mtp_entry=tuple(_mtp_entry(table)),
        mtp_layers=tuple(blocks[kind] for kind in _mtp_kinds(table)),
        mtp_exit=tuple(_head(table, shared=True)),
    )
