"""Writes the schemas that SkyPilot and Dynamo hold tasks and requests against.

``python tests/support/write_schemas.py DYNAMO`` with `skypilot` and `pydantic`
installed; DYNAMO is an unpacked wheel of `ai-dynamo`, which is not installed for it.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "exchange" / "schemas"
PLANNER = "dynamo.planner.config.planner_config"
OF_PLANNER = ("PlannerConfig", "PlannerPreDeploymentSweepMode")
WORDS = ("description", "title", "default")
"""What a schema says that refuses nothing."""


def bare(schema: object, *, named: bool = False) -> object:
    """Leave out what a schema says for readers; names of properties stay."""
    if isinstance(schema, dict):
        if not named and "properties" in schema:
            # Kubernetes takes no field that a schema does not name.
            schema = {"additionalProperties": False, **schema}
        return {
            key: bare(each, named=key in ("properties", "$defs") and not named)
            for key, each in schema.items()
            if named or key not in WORDS
        }
    if isinstance(schema, (list, tuple)):
        return [bare(each) for each in schema]
    return schema


def skypilot() -> dict[str, object]:
    """Read the three schemas that a task is held against, one inside the other."""
    from sky.utils import schemas

    parts = {
        "resources": schemas.get_resources_schema(),
        "service": schemas.get_service_schema(),
    }
    task = schemas.get_task_schema()
    return {**task, "properties": {**task["properties"], **parts}}


def dynamo(wheel: Path) -> dict[str, object]:
    """Read the request's schema; what the planner is told is its own."""
    planner = types.ModuleType(PLANNER)
    for name in OF_PLANNER:
        setattr(planner, name, dict)
    sys.modules[PLANNER] = planner
    file = wheel / "dynamo/profiler/utils/dgdr_v1beta1_types.py"
    spec = importlib.util.spec_from_file_location("dgdr", file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["dgdr"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    of_spec = module.DynamoGraphDeploymentRequestSpec.model_json_schema()
    assert isinstance(of_spec, dict)
    return of_spec


if __name__ == "__main__":
    found = {"skypilot": skypilot(), "dynamo": dynamo(Path(sys.argv[1]))}
    for tool, schema in found.items():
        text = json.dumps(bare(schema)) + "\n"
        (FOLDER / f"{tool}.json").write_text(text, encoding="utf-8")
