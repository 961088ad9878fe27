"""What a load is: people who differ, tools that do not, and steps without any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.catalog.open import open_catalog
from planopt.errors import InputError
from planopt.options import Asked
from planopt.planning.pipeline import Serving
from planopt.procurement.solver import Solver
from planopt.traffic import read_traffic

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.documents.evaluation import EvaluationDocument
    from planopt.loads import Load
    from planopt.planning.question import ServingQuestion

REPLICA: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "accelerator": "h100-sxm",
    "prompt": 1000,
    "output": 100,
}


def _evaluated(**said: Any) -> EvaluationDocument:
    return planopt.evaluate(**REPLICA, **said)


def test_users_differ_and_a_benchmark_does_not() -> None:
    people, tool = _evaluated(users=8), _evaluated(users=8, load="benchmark")
    assert people.ttft_seconds.p95 > 1.5 * people.ttft_seconds.p50  # type: ignore[operator]
    assert people.tpot_seconds.p95 > 1.05 * people.tpot_seconds.p50  # type: ignore[operator]
    assert tool.tpot_seconds.p95 == pytest.approx(tool.tpot_seconds.p50, rel=1e-3)


def test_lengths_that_are_given_are_means_with_the_spread_of_chat() -> None:
    (spread,) = [each for each in _evaluated(users=8).assumed if each.name == "spread"]
    assert "chat" in spread.value
    assert "0.96 and 0.77" in spread.value
    fixed = _evaluated(users=8, load="benchmark").assumed
    assert "spread" not in [each.name for each in fixed]
    # A workload that says nothing of a spread has none.
    assert "spread" not in [
        each.name for each in _evaluated(users=8, workload="batch").assumed
    ]


def test_steps_have_no_load() -> None:
    assert _evaluated(users=8, load="steady").under_load is None


def test_the_fields_words_are_taken_in_silence() -> None:
    field: dict[str, Any] = {"isl": 1000, "osl": 100, "concurrency": 8}
    ours = _evaluated(users=8)
    theirs = planopt.evaluate(model="llama-3.1-8b", accelerator="h100-sxm", **field)
    assert theirs.under_load == ours.under_load


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"load": "open"}, "--request-rate"),
        ({"load": "closed", "requests": "3/s"}, "--request-rate"),
        ({"load": "steady", "percentile": "p95"}, "--percentile"),
    ],
)
def test_loads_that_contradict_what_is_asked(said: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as refused:
        planopt.solve(target="5tok/s", **said)
    assert [one.field for one in refused.value.diagnostics] == [field]


def test_a_held_batch_and_the_articles_assumptions_are_judged_by_steps() -> None:
    for said in ({"batch": 8}, {"assumptions": "article"}):
        plan = planopt.solve(target="5tok/s", **said)
        assert (plan.request.load, plan.request.percentile) == ("steady", None)


def _question(**said: Any) -> ServingQuestion:
    """Read what is asked, without an answer."""
    asked = {"model": "llama-3.1-8b", "accelerators": "h100-sxm", "ttft": "1s", **said}
    with Solver() as solver:
        return Serving().read(Asked("solve", asked), open_catalog(), solver)


def _load(**said: Any) -> Load:
    load = _question(**said).problem.whole_load
    assert load is not None
    return load


def test_a_purchase_is_for_bursts_and_for_prompts_that_are_found() -> None:
    load = _load(requests="3/s", arrival_cv=3, prefix_hit_rate="40%")
    assert (load.arrivals.kind, load.arrivals.cv) == ("gamma", 3)
    assert load.prefix_hit_rate == 0.4
    with pytest.raises(InputError) as refused:
        _question(arrival_cv=3)
    assert [one.field for one in refused.value.diagnostics] == ["--request-rate"]


def _most(**said: Any) -> float:
    """Tokens per second of the best unit of one accelerator, by the closed form."""
    long = {"prompt": 6000, "output": 100, "requests": "3/s", "max_accelerators": 1}
    found = _question(**long, **said).search()
    return max(found.listed().tokens_per_second)


def test_bursts_need_more_and_found_prompts_less() -> None:
    usual = _most()
    assert _most(arrival_cv=3) < 0.95 * usual
    assert _most(prefix_hit_rate="50%") > 1.2 * usual
    # A prompt that is found need not be read alone within the promise.
    assert _most(ttft="120ms", prefix_hit_rate="90%") > 0


def test_a_purchase_for_ones_own_traffic(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("seconds,prompt,output\n0,1000,100\n1,3000,300\n4,2000,200\n")
    load = _load(traffic=str(file))
    assert (load.sizes.kind, load.mean_prompt) == ("pairs", 2000)
    assert load.arrivals.per_second == pytest.approx(0.5)
    assert load.arrivals.cv == pytest.approx(0.5)
    # Asked in other words it is of the same traffic.
    assert _question(traffic=str(file)).without_ttft.problem.sizes == load.sizes
    assert _load(traffic=str(file), users=3).arrivals.users == 3
    with pytest.raises(InputError) as refused:
        _load(traffic=str(file), prompt=512)
    assert [one.field for one in refused.value.diagnostics] == ["--isl"]


PUBLISHED = {
    "azure": "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n",
    "burstgpt": "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "5,ChatGPT,374,44,418,Conversation log\n9.314579,GPT-4,396,109,505,API log\n",
    "mooncake": '{"timestamp": 0, "input_length": 374, "output_length": 44, '
    '"hash_ids": [0]}\n{"timestamp": 4314.579, "input_length": 396, '
    '"output_length": 109, "hash_ids": [0]}\n',
    "dynamo": '{"created_time": 0, "input_tokens": 374, "output_tokens": 44, '
    '"hash_ids": [0]}\n{"created_time": 4314.579, "input_tokens": 396, '
    '"output_tokens": 109, "hash_ids": [0]}\n',
    "bailian": '{"chat_id": 7, "parent_chat_id": -1, "timestamp": 61, "turn": 1, '
    '"input_length": 374, "output_length": 44, "hash_ids": [3]}\n{"chat_id": 8, '
    '"parent_chat_id": 7, "timestamp": 65.314579, "turn": 2, "input_length": 396, '
    '"output_length": 109, "hash_ids": [3]}\n',
    "agentic": '{"schema": "dynamo.agentic_mooncake", "version": 2, "block_size": 64, '
    '"hash_id_scope": "local", "source": {"format": "own", "digest": "0"}}\n'
    '{"request_id": "b", "play_id": "one", "not_before_ms": 4314.579, '
    '"input_length": 396, "output_length": 109, "hash_ids": [1]}\n'
    '{"request_id": "a", "play_id": "one", "not_before_ms": 0, '
    '"input_length": 374, "output_length": 44, "hash_ids": [1]}\n',
    "vllm": '{"duration": 9, "input_lens": [374, 5, 396], "output_lens": [44, 0, 109],'
    ' "ttfts": [0.1, 0, 0.1], "start_times": [7, 8, 11.314579]}',
    "sglang": '{"input_lens": [374, 396], "output_lens": [44, 109], "ttfts": [1, 1], '
    '"start_times": [0, 4.314579]}\n',
    "weka": """{
    "id": "a", "models": ["m"], "block_size": 64, "hash_id_scope": "local",
    "requests": [
      {"t": 1.0, "type": "s", "in": 374, "out": 44, "hash_ids": [1, 2]},
      {"t": 3.0, "type": "subagent", "agent_id": "s", "duration_ms": 9, "requests": [
        {"t": 2.314579, "type": "n", "in": 396, "out": 109, "hash_ids": [1, 3]}]}
    ]}""",
    "own": "seconds,prompt,output\n0,374,44\n4.314579,396,109\n",
}


@pytest.mark.parametrize("trace", PUBLISHED)
def test_traces_are_read_as_they_are_published(trace: str, tmp_path: Path) -> None:
    file = tmp_path / "trace"
    file.write_text(PUBLISHED[trace])
    read = read_traffic(Asked("solve", {"traffic": str(file)}))
    assert read is not None
    assert (read.prompts, read.answers) == ([374, 396], [44, 109])
    assert read.seconds == pytest.approx([0, 4.314579], abs=1e-6)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"timestamp": 0}\n', "no column output and no column prompt"),
        ('{"input_length": 1, "output_length": 1}\n[]\n', "line 2"),
        ('{"input_length": 1, "output_length": 1', "cannot be read as traffic"),
        ('{"a":' * 9999, "cannot be read as traffic"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\nnoon,1,1\n", "line 2"),
        ("Timestamp,Request tokens,Response tokens\n5,1,1\n4,1,1\n", "after 5"),
        ("prompt,output\n1.5,1\n", "no number of tokens"),
        (
            '{"session_id": "s", "input_length": 1, "output_length": 1, '
            '"timestamp": 0}\n{"session_id": "s", "input_length": 1, '
            '"output_length": 1, "delay": 20}\n',
            "line 2: a turn that waits",
        ),
        ('{"requests": [{"in": 3, "out": 1}], "block_size": 64}', "line 1: "),
        ('{"requests": [{"t": 0, "in": 3, "out": 1}], "block_size": 0}', "block_size"),
        ('{"requests": [], "block_size": 64}', "no requests in it"),
        ('{"requests": [{"t": "now"}], "block_size": 64}', "line 1: "),
        ('{"input_lens": [1, 2], "output_lens": [1]}', "not as many"),
        ('{"schema": "dynamo.agentic_mooncake", "version": 2}', "line 1: "),
    ],
)
def test_what_is_no_trace_is_refused(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "trace"
    file.write_text(content)
    asked = Asked("solve", {"traffic": str(file)})
    assert read_traffic(asked) is None
    with pytest.raises(InputError) as refused:
        asked.finish()
    assert said in refused.value.diagnostics[0].message


def test_hashes_of_traces_are_of_whom_they_are(tmp_path: Path) -> None:
    def pieces(content: str) -> tuple[int, list[list[int]]]:
        file = tmp_path / "trace"
        file.write_text(content)
        read = read_traffic(Asked("solve", {"traffic": str(file)}))
        assert read is not None
        assert read.hashed is not None
        return read.hashed.tokens, read.hashed.pieces

    assert pieces(PUBLISHED["bailian"]) == (16, [[3], [3]])
    assert pieces(PUBLISHED["agentic"]) == (64, [[0], [0]])
    # A sub-agent has what its conversation has.
    assert pieces(PUBLISHED["weka"]) == (64, [[0, 1], [0, 2]])
    asked = '{"t": %s, "type": "n", "in": 9, "out": 1, "hash_ids": [1, %s]}'
    told = '{"block_size": 64, "hash_id_scope": "%s", "requests": [%s]}\n'
    two = [(scope, [asked % (0, 2), asked % (1, 4)]) for scope in ("local", "global")]
    # Another's hashes are others, unless those of a file are said to be of all.
    for scope, (first, second) in two:
        found = pieces(told % (scope, first) + told % (scope, second))
        assert found == (64, [[0, 1], [2, 3] if scope == "local" else [0, 2]])


def test_a_sub_agent_is_timed_as_all_of_its_file_are(tmp_path: Path) -> None:
    of_agent = (
        '{"t": %d, "type": "subagent", "requests": [{"t": %d, "in": 2, "out": 1}]}'
    )
    file = tmp_path / "trace"
    for first, second, times in ((5, 40, [0, 35]), (0, 10, [0, 35])):
        agents = f"{of_agent % (5, first)}, {of_agent % (30, second)}"
        file.write_text(f'{{"block_size": 64, "requests": [{agents}]}}')
        read = read_traffic(Asked("solve", {"traffic": str(file)}))
        assert read is not None
        assert read.seconds == times


def test_two_hundred_people_are_not_two_hundred_streams() -> None:
    asked = _question(people=200).problem
    assert asked.requests_per_second == pytest.approx(200 * 0.86 / 3600)
    assert asked.arrivals is not None
    assert asked.arrivals.kind == "poisson"
    assert "0.86 times an hour" in next(
        each.value for each in asked.assumed if each.name == "seats"
    )
    load = _evaluated(people=2000).under_load
    assert load is not None
    assert load.concurrency is not None
    assert load.concurrency < 5


def test_little_holds_of_users_who_wait() -> None:
    load = _evaluated(users=8).under_load
    assert load is not None
    assert load.concurrency == 8


@pytest.mark.parametrize(
    "said", [{"users": 3}, {"requests": "1/s"}, {"throughput": "100tok/s"}]
)
def test_people_are_the_whole_load(said: dict[str, Any]) -> None:
    with pytest.raises(InputError) as refused:
        _question(people=200, **said)
    assert [one.field for one in refused.value.diagnostics] == ["--people"]


def test_nobody_sits_at_a_batch() -> None:
    with pytest.raises(InputError) as refused:
        _question(people=200, workload="batch")
    assert [one.field for one in refused.value.diagnostics] == ["--people"]


def _log(requests: list[tuple[str, str, int, int]]) -> str:
    """What vLLM 0.33 logs of requests and answers at the level DEBUG."""
    lines = ["INFO 11-26 09:00:00 [api_server.py:1] Starting vLLM"]
    for name, at, prompt, answer in requests:
        head = f"(APIServer pid=7) %s {at} [serve/request_logger.py:66] "
        text = "'what is prompt_token_ids: [1, 2]?\\n', "
        ids = ", ".join(["7"] * prompt)
        lines += [
            head % "DEBUG" + f"Request {name} details: prompt: {text}"
            f"prompt_token_ids: [{ids}], prompt_embeds shape: None.",
            head % "INFO" + f"Received request {name}: params: SamplingParams(n=1), "
            "lora_request: None.",
        ]
        if name.startswith("chat-"):
            lines.append(
                head % "INFO" + f"Generated response {name} (streaming complete): "
                f"output: '<streaming_complete: {answer} tokens>', finish_reason: stop"
            )
        else:
            for part in (answer - 1, 1):
                lines.append(
                    head % "DEBUG" + f"Generated response {name} (streaming delta) "
                    f"details: output_token_ids: [{', '.join(['9'] * part)}]"
                )
    return "\n".join(lines)


def test_a_log_of_vllm_is_traffic(tmp_path: Path) -> None:
    file = tmp_path / "vllm.log"
    file.write_text(
        _log(
            [
                ("cmpl-a", "12-31 23:59:58", 374, 44),
                ("chat-b", "12-31 23:59:59", 396, 109),
                ("chat-c", "01-01 00:00:08", 5, 6),
            ]
        )
        + "\nINFO 01-01 00:00:09 [x.py:1] Received request cmpl-open: params: None."
    )
    read = read_traffic(Asked("solve", {"traffic": str(file)}))
    assert read is not None
    assert (read.prompts, read.answers) == ([374, 396, 5], [44, 109, 6])
    assert read.seconds is not None
    for each, at in zip(read.seconds, (0, 1, 10), strict=True):
        assert each == pytest.approx(at, abs=1)
    # Where in its second a request came is not told: they come at random there.
    many = [(f"cmpl-{n}", f"11-26 10:00:{n // 50:02}", 10, 2) for n in range(1000)]
    file.write_text(_log(many))
    asked = Asked("solve", {"traffic": str(file)})
    found = read_traffic(asked)
    assert found is not None
    found.add_to(asked)
    assert asked.given["request_rate"] == pytest.approx(50, rel=0.05)
    assert asked.given["arrival_cv"] == pytest.approx(1, abs=0.1)


def test_a_log_of_vllm_without_tokens_says_how_they_are_logged(tmp_path: Path) -> None:
    file = tmp_path / "vllm.log"
    log = _log([("cmpl-a", "11-26 10:00:00", 3, 4)])
    file.write_text("\n".join(each for each in log.splitlines() if "DEBUG" not in each))
    asked = Asked("solve", {"traffic": str(file)})
    assert read_traffic(asked) is None
    with pytest.raises(InputError) as refused:
        asked.finish()
    assert "--enable-log-outputs" in refused.value.diagnostics[0].message
