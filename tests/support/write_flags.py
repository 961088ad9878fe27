"""Writes the flags of a tool's release, read from its source without running it.

``python tests/support/write_flags.py TOOL SOURCE VERSION DATE`` reads an unpacked wheel
or checkout, the folder SOURCE; tests hold what is exported against what it wrote.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOOLS = Path(__file__).parents[2] / "python" / "planopt" / "exchange" / "tools"
Flags = dict[str, dict[str, object]]


def _classes(files: list[Path]) -> dict[str, tuple[Path, ast.ClassDef]]:
    found = {}
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name] = (file, node)
    return found


def _literals(files: list[Path]) -> dict[str, list[str]]:
    """Names that stand for a list of words: ``X = Literal[...]`` or ``X = [...]``."""
    found: dict[str, list[str]] = {}
    for file in files:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                words = _words(node.value, found)
                if words:
                    found[target.id] = words
    return found


def _words(node: ast.expr | None, known: dict[str, list[str]]) -> list[str]:
    """The words that an expression lists, as far as it is written out."""
    if isinstance(node, ast.Name):
        return known.get(node.id, [])
    if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Literal"):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        own = [p.value for p in parts if isinstance(p, ast.Constant)]
        own += [word for p in parts for word in _words(p, known)]
        return [word for word in own if isinstance(word, str)]
    if isinstance(node, (ast.List, ast.Tuple)):
        return [
            each.value
            for each in node.elts
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
    if isinstance(node, ast.BinOp):
        return _words(node.left, known) + _words(node.right, known)
    return []


def _typed(node: ast.expr, known: dict[str, list[str]]) -> dict[str, object]:
    """What an annotation takes: nothing, one of some words, or a value."""
    text = ast.unparse(node)
    if re.fullmatch(r"(Optional\[)?bool\]?( \| None)?", text):
        return {"switch": True}
    parts = [node]
    while any(isinstance(each, ast.BinOp) for each in parts):
        parts = [
            half
            for each in parts
            for half in (
                (each.left, each.right) if isinstance(each, ast.BinOp) else (each,)
            )
        ]
    if isinstance(node, ast.Subscript) and text.startswith("Optional"):
        parts = [node.slice]
    words = [word for each in parts for word in _words(each, known)]
    return {"choices": words} if words else {}


def _fields(
    name: str, classes: dict[str, tuple[Path, ast.ClassDef]]
) -> Iterator[tuple[str, Path, ast.AnnAssign]]:
    """The annotated fields of a class and of what it is made from."""
    file, node = classes[name]
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes:
            yield from _fields(base.id, classes)
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            yield each.target.id, file, each


def _arguments(file: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr == "add_argument":
            assert isinstance(node, ast.Call)
            yield node


def _spelled(call: ast.Call) -> list[str]:
    said = [each.value for each in call.args if isinstance(each, ast.Constant)]
    return [each for each in said if isinstance(each, str)]


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)


def _of_call(call: ast.Call, known: dict[str, list[str]]) -> dict[str, object]:
    """What an argument takes, by its own keywords."""
    action = ast.unparse(_keyword(call, "action") or ast.Constant(""))
    if re.search(r"store_(true|false|const)|StoreTrue|BooleanOptional", action):
        return {"switch": True}
    words = _words(_keyword(call, "choices"), known)
    return {"choices": words} if words else {}


def vllm(source: Path) -> Flags:
    """``add_argument`` of the engine, of its configs, and of the front end."""
    root = source / "vllm"
    configs = sorted((root / "config").glob("*.py"))
    quantizations = root / "model_executor/layers/quantization/__init__.py"
    known = _literals([*configs, quantizations])
    classes = _classes([*configs, root / "entrypoints/common/cli_args.py"])
    engine = root / "engine/arg_utils.py"
    owners = dict(
        re.findall(r"(\w+_kwargs) = get_kwargs\((\w+)\)", engine.read_text("utf-8"))
    )
    flags: Flags = {}
    for call in _arguments(engine):
        takes = _of_call(call, known)
        spread = [ast.unparse(each.value) for each in call.keywords if each.arg is None]
        found = re.search(r"(\w+_kwargs)\['(\w+)'\]", spread[0]) if spread else None
        if found and owners.get(found[1]) in classes:
            for name, _, field in _fields(owners[found[1]], classes):
                if name == found[2]:
                    takes = _typed(field.annotation, known)
        at = f"vllm/engine/arg_utils.py:{call.lineno}"
        for flag in _spelled(call):
            flags[flag] = {**takes, "at": at}
    for name, file, field in _fields("FrontendArgs", classes):
        at = f"{file.relative_to(source)}:{field.lineno}"
        flag = f"--{name.replace('_', '-')}"
        flags[flag] = {**_typed(field.annotation, known), "at": at}
    for call in _arguments(root / "entrypoints/common/cli_args.py"):
        for flag in _spelled(call):
            at = f"vllm/entrypoints/common/cli_args.py:{call.lineno}"
            flags.setdefault(flag, {**_of_call(call, known), "at": at})
    flags["--kv-cache-dtype"]["choices"] = known["CacheDType"]
    flags["--quantization"]["choices"] = known["QuantizationMethods"]
    return flags


def sglang(source: Path) -> Flags:
    """Fields of the groups of arguments, and what the server adds itself."""
    flags: Flags = {}
    files = sorted((source / "sglang/srt/arg_groups/fields").glob("*.py"))
    server = source / "sglang/srt/server_args.py"
    choices = source / "sglang/srt/arg_groups/choices.py"
    known = _literals([*files, choices, server])
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                _sglang_field(flags, node, f"{file.relative_to(source)}", known)
    for call in _arguments(server):
        for flag in _spelled(call):
            at = f"sglang/srt/server_args.py:{call.lineno}"
            flags.setdefault(flag, {**_of_call(call, known), "at": at})
    return flags


def _sglang_field(
    flags: Flags, node: ast.AnnAssign, file: str, known: dict[str, list[str]]
) -> None:
    kind, target = node.annotation, node.target
    if not isinstance(kind, ast.Subscript) or not isinstance(target, ast.Name):
        return
    parts = kind.slice.elts if isinstance(kind.slice, ast.Tuple) else []
    calls = [each for each in parts if isinstance(each, ast.Call)]
    arg = next((each for each in calls if ast.unparse(each.func) == "Arg"), None)
    if not parts or any(ast.unparse(each.func) == "Derived" for each in calls):
        return
    takes = _typed(parts[0], known)
    names = [f"--{target.id.replace('_', '-')}"]
    if arg is not None:
        if _keyword(arg, "no_cli") is not None:
            return
        own = _keyword(arg, "cli_name")
        names = [str(ast.literal_eval(own))] if own is not None else names
        names += _words(_keyword(arg, "aliases"), known)
        words = _words(_keyword(arg, "choices"), known)
        takes = {"choices": words} if words else takes
    for flag in names:
        flags[flag] = {**takes, "at": f"{file}:{node.lineno}"}


def llama_cpp(source: Path) -> Flags:
    """Rows of the tables of ``tools/server/README.md``, which it writes itself."""
    page = source / "tools/server/README.md"
    flags: Flags = {}
    for line in page.read_text(encoding="utf-8").splitlines():
        row = re.match(r"\| `(-[^`]+)` \|", line)
        if row is None:
            continue
        told = row[1].replace("\\|", "|")
        names = re.findall(r"(?:^|, )(-{1,2}[\w-]+)", told)
        rest = re.sub(r"^(?:(?:, )?-{1,2}[\w-]+)+", "", told).strip()
        takes: dict[str, object] = {} if rest else {"switch": True}
        options = re.fullmatch(r"[\[{<](\w+(?:[|,]\w+)+)[\]}>]", rest)
        if options:
            takes = {"choices": re.split(r"[|,]", options[1])}
        for flag in names:
            flags[flag] = {**takes, "at": "tools/server/README.md"}
    return flags


def trtllm(source: Path) -> Flags:
    """Keys of the YAML: fields of ``BaseLlmArgs`` and of the configs inside it."""
    file = source / "tensorrt_llm/llmapi/llm_args.py"
    classes, known = _classes([file]), _literals([file])
    flags: Flags = {}

    def walk(name: str, before: str, depth: int) -> None:
        for key, where, field in _fields(name, classes):
            at = f"{where.relative_to(source)}:{field.lineno}"
            flags.setdefault(
                f"{before}{key}", {**_typed(field.annotation, known), "at": at}
            )
            inner = re.findall(r"\w+", ast.unparse(field.annotation))
            for each in inner if depth else ():
                subclasses = [
                    own
                    for own, (_, node) in classes.items()
                    if any(ast.unparse(base) == each for base in node.bases)
                ]
                for own in [each, *subclasses]:
                    if own in classes and own.endswith("Config"):
                        walk(own, f"{before}{key}.", depth - 1)
            if key == "speculative_config" and depth:
                for own in ("MTPDecodingConfig", "DraftTargetDecodingConfig"):
                    if own in classes:
                        walk(own, f"{key}.", 0)

    for top in ("BaseLlmArgs", "TorchLlmArgs"):
        walk(top, "", 1)
    return flags


def megatron(source: Path) -> Flags:
    """``add_argument`` of the trainer, and the dataclasses it makes flags of."""
    arguments = source / "megatron/training/arguments.py"
    files = [arguments, *sorted((source / "megatron").rglob("*config*.py"))]
    classes, known = _classes(files), _literals(files)
    flags: Flags = {}
    for call in _arguments(arguments):
        for flag in _spelled(call):
            at = f"megatron/training/arguments.py:{call.lineno}"
            flags[flag] = {**_of_call(call, known), "at": at}
    excluded: list[str] = []
    for node in ast.walk(ast.parse(arguments.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "exclude":
            excluded = _words(node.value, known)
    for node in ast.walk(ast.parse(arguments.read_text(encoding="utf-8"))):
        made = isinstance(node, ast.Call) and ast.unparse(node.func)
        if made != "ArgumentGroupFactory" or not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.args[0])
        own = _keyword(node, "exclude")
        left = excluded if isinstance(own, ast.Name) else _words(own, known)
        for field, file, each in _fields(name, classes) if name in classes else ():
            if field in left:
                continue
            takes = _typed(each.annotation, known)
            said = re.search(r"'arg_names': (\[.*?\])", ast.unparse(each.value or each))
            flag = field.replace("_", "-")
            on = takes.get("switch") and ast.unparse(each.value or each) == "True"
            names = [f"--no-{flag}", f"--disable-{flag}"] if on else [f"--{flag}"]
            for spelled in ast.literal_eval(said[1]) if said else names:
                at = f"{file.relative_to(source)}:{each.lineno}"
                flags[spelled] = {**takes, "at": at}
    for word in ("nproc-per-node", "nnodes", "node-rank", "master-addr"):
        flags[f"--{word}"] = flags[f"--{word.replace('-', '_')}"] = {"at": "torchrun"}
    return flags


SECTIONS = ("Training", "Parallelism", "Compile", "Comm", "Debug")


def torchtitan(source: Path) -> Flags:
    """Sections of the configuration, and the functions of the registries."""
    file = source / "torchtitan/config/configs.py"
    classes, known = _classes([file]), _literals([file])
    flags: Flags = {}
    for section in SECTIONS:
        for field, _, each in _fields(f"{section}Config", classes):
            at = f"{file.relative_to(source)}:{each.lineno}"
            takes = _typed(each.annotation, known)
            flags[f"--{section.lower()}.{field}"] = {**takes, "at": at}
    modules = sorted((source / "torchtitan/models").glob("*/config_registry.py"))
    functions = [
        node.name
        for each in modules
        for node in ast.parse(each.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    ]
    registry = "torchtitan/models/*/config_registry.py"
    names = [each.parent.name for each in modules]
    flags["--module"] = {"choices": names, "at": registry}
    flags["--config"] = {"choices": functions, "at": registry}
    for word in ("nproc-per-node", "nnodes", "node-rank", "master-addr"):
        flags[f"--{word}"] = flags[f"--{word.replace('-', '_')}"] = {"at": "torchrun"}
    return flags


def deepspeed(source: Path) -> Flags:
    """Keys of the JSON: models of ZeRO and offload, and the names of constants."""
    runtime = source / "deepspeed/runtime"
    configs = ("zero/config.py", "zero/offload_config.py", "precision_config.py")
    parallel = "tensor_parallel/config.py"
    classes = _classes([runtime / name for name in (*configs, parallel)])
    flags: Flags = {}

    def take(name: str, before: str) -> None:
        for field, file, each in _fields(name, classes):
            alias = re.search(r"alias='(\w+)'", ast.unparse(each))
            at = f"{file.relative_to(source)}:{each.lineno}"
            takes = {**_typed(each.annotation, {}), "at": at}
            flags[f"{before}{alias[1] if alias else field}"] = takes

    take("DeepSpeedZeroConfig", "zero_optimization.")
    take("DeepSpeedFP16Config", "fp16.")
    take("DeepSpeedBF16Config", "bf16.")
    take("TPTrainingConfig", "tensor_parallel.")
    for part in ("optimizer", "param"):
        config = f"DeepSpeedZeroOffload{part.title()}Config"
        take(config, f"zero_optimization.offload_{part}.")
    kept = runtime / "activation_checkpointing/config.py"
    for word in re.findall(r"= '([a-z_]+)'", kept.read_text(encoding="utf-8")):
        at = f"{kept.relative_to(source)}"
        flags[f"activation_checkpointing.{word}"] = {"at": at}
    named = ("optimizer.type", "optimizer.params", "sequence_parallel_size")
    for word in named:
        flags[word] = {"at": "deepspeed/runtime/config.py"}
    constants = runtime / "constants.py"
    for node in ast.parse(constants.read_text(encoding="utf-8")).body:
        value = node.value if isinstance(node, ast.Assign) else None
        word = value.value if isinstance(value, ast.Constant) else None
        if isinstance(word, str) and re.fullmatch(r"[a-z][a-z_0-9]+", word):
            at = f"deepspeed/runtime/constants.py:{node.lineno}"
            flags.setdefault(word, {"at": at})
    return flags


def vllm_bench(source: Path) -> Flags:
    """``add_argument`` of the benchmark and of its datasets."""
    flags: Flags = {}
    for name in ("serve.py", "datasets/datasets.py"):
        file = source / "vllm/benchmarks" / name
        choices = _literals([file])
        for call in _arguments(file):
            at = f"{file.relative_to(source)}:{call.lineno}"
            for flag in _spelled(call):
                flags.setdefault(flag, {**_of_call(call, choices), "at": at})
    lookup = source / "vllm/benchmarks/lib/endpoint_request_func.py"
    for node in ast.walk(ast.parse(lookup.read_text(encoding="utf-8"))):
        table = node.value if isinstance(node, ast.AnnAssign) else None
        if isinstance(table, ast.Dict) and "openai-chat" in ast.unparse(table):
            names = ast.List([each for each in table.keys if each])
            flags["--backend"]["choices"] = _words(names, {})
    return flags


def guidellm(source: Path) -> Flags:
    """Options by their alias, and fields of each kind: ``--option kind field``."""
    schemas = sorted((source / "guidellm/schemas").rglob("*.py"))
    classes = _classes(schemas)
    flags: Flags = {}
    owners: dict[str, str] = {}
    for _, file, field in _fields("BenchmarkArgs", classes):
        alias = re.search(r"'argument_alias': '(\w+)'", ast.unparse(field))
        owner = re.search(r"\w+Args", ast.unparse(field.annotation))
        if alias and owner:
            owners[owner[0]] = f"--{alias[1].replace('_', '-')}"
            at = f"{file.relative_to(source)}:{field.lineno}"
            flags[owners[owner[0]]] = {"at": at}
    for name, (_, node) in classes.items():
        for decorator in node.decorator_list:
            said = re.match(r"(\w+)\.register\((.*)\)", ast.unparse(decorator))
            if said is None or said[1] not in owners:
                continue
            kinds = re.findall(r"'(\w+)'", said[2])
            for key, where, each in _fields(name, classes):
                at = f"{where.relative_to(source)}:{each.lineno}"
                for kind in kinds:
                    flags[f"{owners[said[1]]} {kind} {key}"] = {"at": at}
    return flags


def aiperf(source: Path) -> Flags:
    """Names that ``CLIParameter`` gives the fields of the configuration."""
    file = source / "aiperf/config/flags/cli_config.py"
    classes = _classes([file])
    flags: Flags = {}
    for _, _, field in _fields("CLIConfig", classes):
        takes = {"switch": True} if "[bool," in ast.unparse(field.annotation) else {}
        for node in ast.walk(field.annotation):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "CLIParameter":
                names = _keyword(node, "name")
                spelled = [names.value] if isinstance(names, ast.Constant) else []
                for flag in [*spelled, *_words(names, {})]:
                    at = f"{file.relative_to(source)}:{field.lineno}"
                    flags[str(flag)] = {**takes, "at": at}
    return flags


READERS: dict[str, Callable[[Path], Flags]] = {
    "vllm": vllm,
    "sglang": sglang,
    "llama-cpp": llama_cpp,
    "trtllm": trtllm,
    "megatron": megatron,
    "torchtitan": torchtitan,
    "deepspeed": deepspeed,
    "vllm-bench": vllm_bench,
    "guidellm": guidellm,
    "aiperf": aiperf,
}


def write(tool: str, source: Path, version: str, date: str) -> None:
    """Write the list beside the table of the tool."""
    flags = READERS[tool](source)
    head = {"tool": tool, "version": version, "date": date}
    rows = ",\n".join(
        f"  {json.dumps(flag)}: {json.dumps(flags[flag])}" for flag in sorted(flags)
    )
    text = json.dumps(head)[:-1] + ', "flags": {\n' + rows + "\n}}\n"
    (TOOLS / f"{tool}.flags.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4])
