"""The conflict judge: can two decisions both be followed, and if not, why not."""

from __future__ import annotations

from forgekit.policy.judge.port import Judge, Judgement, Parts, Statement, Verdict
from forgekit.policy.judge.rules import RuleJudge

__all__ = ["Judge", "Judgement", "Parts", "RuleJudge", "Statement", "Verdict"]
