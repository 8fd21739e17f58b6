"""How the outcome of a conformance scenario is named: only a failure of ours is one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from conformance import FAILED, FIXTURE, PASSED, UNDECLARED, outcome

NO_METHOD = "Failed: MCP error -32601: Method not found"
NO_TOOL = "Failed: MCP error -32602: no such tool: test_simple_text"
NO_RESOURCE = "Failed: MCP error -32602: no resource answers to 'test://static-text'"
TIMEOUT = "Failed: no answer within 30 s"


@pytest.mark.parametrize(
    ("scenario", "errors", "expected"),
    [
        ("ping", [None], (PASSED, "checks: 1")),
        ("ping", [], (FAILED, "checks: 0")),
        ("ping", [None, TIMEOUT], (FAILED, TIMEOUT)),
        ("tools-call-simple-text", [NO_TOOL], (FIXTURE, NO_TOOL)),
        ("resources-read-text", [NO_RESOURCE], (FIXTURE, NO_RESOURCE)),
        ("tools-call-simple-text", [NO_TOOL, TIMEOUT], (FAILED, TIMEOUT)),
        ("logging-set-level", [NO_METHOD], (UNDECLARED, NO_METHOD)),
        ("completion-complete", [NO_METHOD], (FAILED, NO_METHOD)),  # declared below
        ("resources-unsubscribe", [NO_METHOD], (UNDECLARED, NO_METHOD)),
        ("tools-list", [NO_METHOD], (FAILED, NO_METHOD)),
    ],
)
def test_a_scenario_fails_only_for_a_reason_of_ours(
    scenario: str, errors: list[str | None], expected: tuple[str, str]
) -> None:
    checks = [
        {"status": "FAILURE", "errorMessage": error} if error else {"status": "SUCCESS"} for error in errors
    ]
    assert outcome(scenario, checks, {"tools", "resources", "completions"}) == expected


def test_a_failure_without_a_message_is_a_failure() -> None:
    assert outcome("ping", [{"status": "FAILURE"}], ()) == (FAILED, "no message")
