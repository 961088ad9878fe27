"""Manifests and tasks pass the schemas of what takes them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
import yaml
from exchanging import CASES, plan_of, unknown, with_pools
from msgspec.structs import replace

from planopt.documents.facts import Fact, Facts
from planopt.errors import InputError
from planopt.exchange.export import export
from planopt.exchange.places import places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.documents.plan import Plan

OVER_HOSTS = {
    "model": "llama-3.1-70b",
    "accelerator": "l40s",
    "host": "pcie-4gpu",
    "network": "infiniband-200g",
    "hosts": 2,
    "tp": 4,
    "pp": 2,
    "batch": 8,
}
PLANS = {**CASES, "over hosts": OVER_HOSTS}
SCHEMAS = {
    name: jsonschema.Draft202012Validator(
        json.loads((Path(__file__).parent / "schemas" / f"{name}.json").read_text())
    )
    for name in ("skypilot", "dynamo")
}
"""Of SkyPilot 0.14.1 and Dynamo 1.6.1: tests/support/write_schemas.py."""


def written(plan: Plan, to: str) -> Iterator[object]:
    made = export(plan, to)
    for name in made.launched:
        assert name.endswith(".yaml")
        yield from yaml.safe_load_all(made.files[name])


def asked(plan: Plan) -> Plan:
    request = replace(plan.request, ttft_seconds=2.0, target_tokens_per_second=20.0)
    return replace(plan, request=request)


@pytest.mark.parametrize("case", PLANS)
def test_manifests_pass_the_schemas_of_kubernetes(case: str) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="not installed")
    plan = plan_of(**PLANS[case])
    if case in CASES:
        plan = with_pools(plan, **PLANS[case])
    kinds = []
    for document in written(plan, "k8s"):
        assert isinstance(document, dict)
        kinds.append(document["kind"])
        if document["kind"] == "LeaderWorkerSet":  # Not in the schemas: its pod is.
            workers = document["spec"]["leaderWorkerTemplate"]
            assert workers["size"] == 2
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
            document = {**pod, "spec": workers["workerTemplate"]["spec"]}
        validator.validate(document, "1.37", strict=True)
    assert set(kinds) == {
        "Service",
        "LeaderWorkerSet" if case == "over hosts" else "Deployment",
    }


def test_a_planted_key_is_found_by_kubernetes() -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="not installed")
    (deployment, _) = written(plan_of(**CASES["dense"]), "k8s")
    assert isinstance(deployment, dict)
    deployment["spec"]["replica"] = deployment["spec"].pop("replicas")
    with pytest.raises(validator.ValidationError, match="replica"):
        validator.validate(deployment, "1.37", strict=True)


@pytest.mark.parametrize("case", CASES)
def test_services_pass_the_specification_of_compose(case: str) -> None:
    builtin = pytest.importorskip(
        "check_jsonschema.builtin_schemas", reason="not installed"
    )
    schema = builtin.get_builtin_schema("vendor.compose-spec")
    plan = with_pools(plan_of(**PLANS[case], replicas=2), **PLANS[case])
    for document in written(plan, "compose"):
        jsonschema.Draft202012Validator(schema).validate(document)
        assert isinstance(document, dict)
        each = [
            card
            for service in document["services"].values()
            for device in service["deploy"]["resources"]["reservations"]["devices"]
            for card in device["device_ids"]
        ]
        assert (
            len(each)
            == len(set(each))
            == 2 * plan.deployments[0].candidate.accelerators
        )
        ports = [service["ports"] for service in document["services"].values()]
        assert ports == [["8000:8000"], ["8001:8000"]]
    planted = {"services": {"x": {"image": "y", "comand": []}}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(planted)


def test_compose_is_for_one_machine() -> None:
    with pytest.raises(InputError) as raised:
        export(plan_of(**OVER_HOSTS), "compose")
    (problem,) = raised.value.diagnostics
    assert (problem.code, problem.field, problem.value) == ("E303", "hosts", "2")


@pytest.mark.parametrize("case", PLANS)
def test_tasks_pass_the_schema_of_skypilot(case: str) -> None:
    for document in written(plan_of(**PLANS[case]), "skypilot"):
        assert isinstance(document, dict)
        SCHEMAS["skypilot"].validate(document)
        name, _, count = document["resources"]["accelerators"].partition(":")
        assert name in places()["skypilot"].accelerators.values()
        assert int(count) * document["num_nodes"] == (
            plan_of(**PLANS[case]).deployments[0].candidate.accelerators
        )
        for planted in (
            {**document, "num_node": 1},
            {**document, "resources": {**document["resources"], "accelerator": "x"}},
        ):
            with pytest.raises(jsonschema.ValidationError):
                SCHEMAS["skypilot"].validate(planted)


@pytest.mark.parametrize("case", PLANS)
def test_requests_pass_the_schema_of_dynamo(case: str) -> None:
    plan = asked(plan_of(**PLANS[case]))
    graph, request = written(plan, "dynamo")
    assert isinstance(graph, dict)
    assert isinstance(request, dict)
    front, worker = graph["spec"]["components"]
    assert (front["type"], worker["type"]) == ("frontend", "worker")
    (container,) = worker["podTemplate"]["spec"]["containers"]
    assert (
        unknown("vllm", {"x.sh": f"exec vllm serve {' '.join(container['args'])}"})
        == []
    )
    spec = request["spec"]
    SCHEMAS["dynamo"].validate(spec)
    for key in ("sla", "workload", "hardware"):
        with pytest.raises(jsonschema.ValidationError):
            SCHEMAS["dynamo"].validate({**spec, key: {**spec[key], "tttf": 1}})
    assert spec["workload"] == {"isl": 512, "osl": 512, "concurrency": 8}
    assert spec["sla"] == {"ttft": 2000, "itl": 50}
    assert spec["hardware"]["totalGpus"] == plan.deployments[0].candidate.accelerators


def test_pools_are_a_graph_of_their_own() -> None:
    plan = with_pools(plan_of(**CASES["dense"]), **CASES["dense"])
    graphs = [each for each in written(plan, "dynamo") if isinstance(each, dict)]
    kinds = [
        [one["type"] for one in each["spec"]["components"]]
        for each in graphs
        if each["kind"] == "DynamoGraphDeployment"
    ]
    assert kinds == [["frontend", "worker"], ["frontend", "prefill", "decode"]]


@pytest.mark.parametrize("to", places())
def test_a_field_that_changes_changes_the_manifest(to: str) -> None:
    before = export(plan_of(**CASES["dense"]), to)
    for change in ({"tp": 8}, {"max_model_len": 2048}, {"kv": "fp8"}):
        after = export(plan_of(**{**CASES["dense"], **change}), to)
        assert after.files[after.launched[0]] != before.files[before.launched[0]]


@pytest.mark.parametrize("to", places())
def test_cards_of_others_are_refused_by_name(to: str) -> None:
    plan = plan_of(**{**CASES["dense"], "accelerator": "mi300x"})
    with pytest.raises(InputError) as raised:
        export(plan, to)
    assert {each.field for each in raised.value.diagnostics} == {"accelerator"}


@pytest.mark.parametrize("to", ["k8s", "compose", "skypilot"])
def test_a_hostile_name_stays_a_name(to: str) -> None:
    hostile = "x/'; $(touch owned)\n# ${HOME} \"\n- END\nEND"
    facts = Facts(
        entries={
            "models/llama-3.1-70b": Fact.of({"aliases": [hostile]}),
            "accelerators/h100-sxm": Fact.of({"vendor": "NVIDIA"}),
        }
    )
    plan = replace(plan_of(**CASES["dense"]), facts=facts)
    for document in written(plan, to):
        scripts = [each for each in texts(document) if "exec vllm" in each]
        for each in scripts:
            said = each.replace("$$", "$").replace("\\\n", " ")
            assert hostile in shlex.split(said.partition("exec ")[2])


def texts(document: object) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict):
        yield from texts(list(document.values()))
    elif isinstance(document, list):
        for each in document:
            yield from texts(each)
