"""A command again and again, with a fault at its n-th file system call, for all n (G1, G2, G3, G7)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from fault_checks import OPERATIONS, Operation, Trial
from fault_injection import FAULTS, KILL, Call, Fault, Server
from guarantees import Level, Report

AT_LEVEL_C = {"revise"}
Group = Sequence[Fault]


def _groups(operation: Operation, level: Level, others: list[Fault]) -> tuple[list[Group], list[Group]]:
    """Return groups of which each call meets one fault in turn: calls for the registry, for its catalogue."""
    if not level.soak:
        return [[KILL], others], [[KILL, *others]]
    every: list[Group] = [[KILL], *([fault] for fault in others)]
    return every if operation.all_faults else [[KILL], others[::2], others[1::2]], [[KILL], others]


def _plan(calls: Sequence[Call], groups: Sequence[Group]) -> Iterator[tuple[Call, Fault]]:
    """Yield call and fault: of each group the next one in turn that can happen to the call."""
    turns = [itertools.cycle(group) for group in groups]
    for call in calls:
        for group, turn in zip(groups, turns, strict=True):
            for fault in itertools.islice(turn, len(group)):
                if not fault.kinds or call.kind in fault.kinds:
                    yield call, fault
                    break


@pytest.mark.parametrize("name", OPERATIONS)
def test_whatever_fails_old_or_new_is_left(
    name: str, server: Server, level: Level, guarantee: Report, tmp_path: Path
) -> None:
    if not level.soak and name not in AT_LEVEL_C:
        pytest.skip(f"{name} is harmed at level N")
    operation = OPERATIONS[name]
    trial = Trial(server, operation, tmp_path)
    others = [fault for fault in FAULTS if fault is not KILL]
    level.random(name).shuffle(others)
    of_registry, of_catalogue = _groups(operation, level, others)
    plan = [
        *_plan([call for call in trial.calls if not call.disposable], of_registry),
        *_plan([call for call in trial.calls if call.disposable], of_catalogue),
    ]
    outcomes: Counter[str] = Counter()
    failed = []
    for turn, (call, fault) in enumerate(plan):
        try:
            outcomes[trial.harm(call.number, fault, next_first=bool(turn % 2))] += 1
        except AssertionError as e:
            path = call.path.removeprefix(str(trial.root))
            failed.append(f"{fault.name} at call {call.number}, {call.kind} {path}: {e}")
            print(failed[-1].split("; run it again")[0][:400], flush=True)  # noqa: T201
    outcomes[trial.harm(0, KILL, next_first=False, kill_at_end=True)] += 1
    assert not failed, "\n\n".join(failed[:10])
    figure = f"{sum(outcomes.values())} runs: {outcomes['old']} old, {outcomes['new']} new, 0 between"
    guarantee("G1", f"{name}: a fault at each of {len(trial.calls)} calls", figure)
