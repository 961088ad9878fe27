"""Options that several commands share, each declared once, as data.

The name of an option is the name of the argument of the API: ``--max-power`` is
``max_power``. Options that are not given are not passed on, so that the defaults are
those of the API, in one place.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeVar

import typer

Command = TypeVar("Command", bound=Callable[..., "int | None"])

JSON = Annotated[bool, typer.Option("--json", help="Print one JSON document")]
FORCE = Annotated[
    bool, typer.Option("--force", help="Replace files that are there already")
]


def _option(
    name: str, kind: Any, default: object = None, to: str | None = None, **settings: Any
) -> inspect.Parameter:
    flag = "--" + name.replace("_", "-")
    return inspect.Parameter(
        to or name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, typer.Option(flag, **settings)],
    )


def text(name: str, metavar: str, help_: str) -> inspect.Parameter:
    """Make an option that the API reads: a name, a quantity with its unit."""
    return _option(name, str | None, metavar=metavar, help=help_)


def count(name: str, help_: str) -> inspect.Parameter:
    """Make an option that is a whole number, which the API reads too."""
    return text(name, "N", help_)


def several(
    name: str, metavar: str, help_: str, to: str | None = None
) -> inspect.Parameter:
    """Make an option that may be repeated; the API may have a plural for it."""
    repeated = f"{help_}; repeatable"
    return _option(name, list[str] | None, to=to, metavar=metavar, help=repeated)


def switch(name: str, help_: str) -> inspect.Parameter:
    """Make an option without a value."""
    return _option(name, bool, default=False, help=help_)


MODEL_NAME = text(
    "model",
    "NAME|config.json",
    "Model of the catalog, or a Hugging Face config.json [default: llama-2-70b]",
)

MODEL = (
    MODEL_NAME,
    text("weights", "FORMAT", "Number format of the weights [default: as published]"),
    text("kv", "FORMAT", "Number format of the KV cache [default: 16 bits]"),
    count("kv_heads", "Key/value heads, in place of the model's own"),
)

LENGTHS = (
    text("workload", "NAME", "Prompt and output lengths by name [default: chat]"),
    count("prompt", "Tokens of the prompt"),
    count("output", "Tokens of the output"),
    count("context", "Tokens cached per user: speed is judged at full context"),
)

RECIPE = (
    text("tokens", "2T", "Tokens of the whole training run"),
    count("seq_len", "Tokens of a sequence [default: 4096]"),
    count("global_batch", "Sequences of a step [default: 4M tokens]"),
    text(
        "precision",
        "bf16|fp16|fp8|nvfp4|fp32",
        "Arithmetic of training [default: bf16]",
    ),
    text("gradients", "fp32|bf16|fp16", "Format of gradients [default: fp32]"),
    text("optimizer", "adam|adam8bit|sgd|adafactor|muon", "[default: adam]"),
    count("mtp_modules", "Multi-token prediction [default: as published]"),
)
"""How a model is trained, whatever it is trained on."""

CATALOGS = (
    text("assumptions", "NAME|FILE", "Assumptions to use [default: calibrated]"),
    several("catalog", "DIR", "Folder of catalog files laid over the bundled ones"),
)

ASSUMPTIONS = (
    *CATALOGS,
    text(
        "pcie_all_reduce",
        "default|slow|good",
        "Class of hosts by their all-reduce over PCIe",
    ),
)

DRAFTING = (
    text("draft", "mtp|MODEL", "What drafts tokens (speculative decoding)"),
    count("draft_tokens", "Tokens drafted ahead of a check [default: 1]"),
    text("acceptance", "80%", "Share of drafted tokens that are accepted"),
)

ENGINE = (
    text("engine", "NAME", "What serves: vllm, sglang, trtllm, llama-cpp ..."),
    text("policy", "decode-first|prefill-first", "Who goes first in a step"),
    count("token_budget", "Tokens of a step, prompts and answers together"),
    count("max_sequences", "Sequences of a micro-batch"),
)
"""The engine, and what it does under a load."""

PREFILL_POOL = (
    count("prefill_replicas", "Replicas of a pool that only reads prompts"),
    text("prefill_accelerator", "NAME", "Its accelerator [default: the same]"),
    text("prefill_host", "NAME", "Its host"),
    count("prefill_tp", "Its tensor-parallel degree"),
    count("prefill_pp", "Its pipeline stages"),
    count("prefill_cp", "Its context-parallel degree"),
    count("prefill_dp", "Its attention data parallel degree"),
    count("prefill_ep", "Its expert-parallel degree"),
)
"""Disaggregation: the configuration then answers alone."""

LAYOUT = (
    count("batch", "Sequences per micro-batch"),
    count("in_flight", "Micro-batches that circulate in a pipeline [default: stages]"),
    text("overlap", "none|two-batch", "Overlap of computing and communicating"),
)

BUDGET = text("budget", "20000|12/h", "Purchase money, or money per hour or month")

PRICES = (
    text("condition", "new|used|any", "Accelerators are bought so [default: new]"),
    several("price", "ID=USD", "Price of a part, or $/h of an offer", to="prices"),
)
"""What parts cost, in place of the catalogs."""

PURCHASE = (
    *PRICES,
    text("exclude", "LIST", "Accelerators to leave out"),
    text("host", "LIST", "Hosts to consider"),
    text("network", "LIST", "Networks between hosts to consider"),
    text("acquire", "buy|rent|both", "How to come by the hardware [default: buy]"),
    text("max_power", "10kW", "Power draw of everything bought"),
    text("max_racks", "N", "Racks of 42 units"),
    count("max_accelerators", "Accelerators bought"),
    several("stock", "ID=N", "How many of a part there are"),
    switch("datacenter", "Leave out parts whose licence forbids data centers"),
)
"""What may be bought, whatever it is for."""

SEARCH = (
    count("top", "Alternatives to show"),
    text("time_limit", "10s", "Time to search for; the best plan so far is given"),
)

PLACES = (
    text("provider", "LIST", "Providers to rent from"),
    text("region", "LIST", "Regions to rent in, in the providers' words"),
)

RENTING = (
    text("terms", "LIST", "on-demand, spot, reserved [default: on-demand]"),
    *PLACES,
)

COST = (
    text("years", "N", "Years that a purchase is written off over [default: 3]"),
    text("duty", "15%", "Share of the hours that are busy [default: 100%]"),
    text("electricity", "$0.175/kWh", "Price of energy [default: $0.10/kWh]"),
    text("pue", "N", "Power of the hall over that of the hardware [default: 1]"),
    text("carbon", "KG", "Carbon dioxide of a kWh, kg [default: the assumptions']"),
)
"""Money over time, in place of the assumptions."""

LOAD = (
    text("requests", "3/s", "Requests per second, at random times"),
    count("users", "Users of whom each waits for his answer"),
    text("traffic", "FILE.csv", "Own traffic: columns prompt, output and seconds"),
)
"""What arrives at a configuration."""

QUESTION = (
    *MODEL,
    text("target", "5tok/s", "Decode speed of each user"),
    text("ttft", "300ms", "Time to the first token"),
    text("percentile", "p95", "Percentile that latencies are judged at"),
    text("throughput", "200tok/s", "Output tokens per second of all users together"),
    text("requests", "3/s", "Requests per second"),
    count("users", "Users at the same time [default: 8]"),
    *LENGTHS,
    *LAYOUT,
    count("cp", "Ranks that may divide prompts, at most [default: for long prompts]"),
    *DRAFTING,
    *ENGINE,
    BUDGET,
    text(
        "objective",
        "cheapest|throughput|cost-per-token|latency",
        "What the best plan is best at [default: cheapest]",
    ),
    text("allow_quantization", "LIST", "Number formats that may replace the model's"),
    *PURCHASE,
    *RENTING,
    *COST,
    text("price_band", "20%", "Ask again with each price off by so much, either way"),
    switch("steps", "Say what one step of each limit is worth"),
    switch("robust", "Meet the speed even where predictions are too good"),
    count("redundancy", "Replicas to spare"),
    *ASSUMPTIONS,
    *SEARCH,
    text("memory_limit", "2GB", "Memory to search with"),
    switch("exhaustive", "Evaluate every candidate, without pruning"),
)

SPARE_HOSTS = count("redundancy", "Spare hosts [default: from failures and repair]")

TRAINING_QUESTION = (
    MODEL_NAME,
    count("kv_heads", "Key/value heads, in place of the model's own"),
    text("deadline", "30d", "Time that the run may take, failures included"),
    *RECIPE,
    BUDGET,
    text(
        "objective",
        "cheapest|throughput",
        "Least price in time, or the fastest run [default: cheapest with --deadline]",
    ),
    *PURCHASE,
    *PLACES,
    SPARE_HOSTS,
    *CATALOGS,
    *SEARCH,
)

ACCELERATORS = text("accelerators", "LIST", "Accelerators to consider")
KINDS = text(
    "accelerators",
    "LIST",
    "Accelerators to consider; with numbers, A:64,B:64, also all of them in one run",
)


def takes(*options: inspect.Parameter) -> Callable[[Command], Command]:
    """Declare a command's options; it gets those given as keyword arguments."""

    def declare(command: Command) -> Command:
        declared = inspect.signature(command).parameters.values()
        own = [each for each in declared if each.kind is not each.VAR_KEYWORD]

        @functools.wraps(command)
        def called(**arguments: Any) -> int | None:
            said = {each.name: arguments.pop(each.name) for each in own}
            return command(**said, **_given(arguments.items()))

        parameters = [*own, *options]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what the parser reads
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        return called  # type: ignore[return-value] # the same command, other options

    return declare


def _given(arguments: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Keep the options that were given."""
    return {
        name: value
        for name, value in arguments
        if value is not None and value is not False and value != []
    }
