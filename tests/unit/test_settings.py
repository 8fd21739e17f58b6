"""The settings file: defaults, slips, values that cannot be."""

from __future__ import annotations

import tomllib

import pytest

from forgekit.model.problem import Severity
from forgekit.model.rules import near_miss
from forgekit.model.settings import DEFAULT_TOML, ModelKind, OpenConflicts, Settings, read_settings


def test_the_default_file_says_the_defaults_and_names_every_key() -> None:
    data = tomllib.loads(DEFAULT_TOML)
    assert read_settings(data) == (Settings(), [])
    assert (*data, "warnings") == tuple(Settings.__dataclass_fields__)
    assert all("#" in line for line in DEFAULT_TOML.splitlines() if "=" in line)


def test_every_key_is_read() -> None:
    text = """
schema = 2
project = "Ledger"
stale_days = 7
stale_hops = 2
stale_max_tier = 0.7
budget = 900
conflicts = "refuse"
model = "some/model"
judge = "llm"
judge_model = "some:4b"
judge_url = "http://127.0.0.1:11434/"
judge_timeout = 5
allowed_secrets = ["3f9a1c2b"]
"""
    assert read_settings(tomllib.loads(text)) == (
        Settings(
            project="Ledger",
            stale_days=7,
            stale_hops=2,
            stale_max_tier=0.7,
            budget=900,
            conflicts=OpenConflicts.REFUSE,
            model="some/model",
            judge=ModelKind.LLM,
            judge_model="some:4b",
            judge_url="http://127.0.0.1:11434",
            judge_timeout=5,
            allowed_secrets=("3f9a1c2b",),
        ),
        [],
    )


@pytest.mark.parametrize("name", ["rules", "nli"])
def test_a_judge_of_the_first_version_is_read_as_the_trained_one_and_said(name: str) -> None:
    settings, problems = read_settings({"judge": name})
    assert (settings.judge, problems) == (ModelKind.TRAINED, [])
    [warning] = settings.warnings
    assert str(warning).startswith(f'forgekit.toml: judge: "{name}" is no longer a judge')
    assert (warning.severity, warning.fix) == (
        Severity.WARNING,
        'set `judge` to "trained", "llm" or "off"',
    )


ALL = (
    "schema, project, stale_days, stale_hops, stale_max_tier, budget, conflicts, model, "
    "judge, reader, essences, apply_topics, judge_model, judge_url, judge_timeout, allowed_secrets, "
    "keep_text, mcp_write, prompt_hook, inject, labels, components, projects"
)
NO_FINGERPRINT = (
    'forgekit.toml: allowed_secrets: must be a list of fingerprints, as a refusal names them: ["3f9a1c2b"]'
)
MISPLACED = (
    "forgekit.toml: projects: holds `{}`, which is a setting; set it above [projects] and take it out here"
)
NO_PATTERNS = (
    'forgekit.toml: projects: must be a table of projects with lists of patterns: "The Nexus" = ["*nexus*"]'
)
NO_ADDRESS = (
    "forgekit.toml: judge_url: "
    "must be an address such as http://127.0.0.1:11434 or https://host/v1, and no more"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stale_day = 7", "forgekit.toml: stale_day: is not a setting; did you mean `stale_days`?"),
        (
            "colour = 1",
            f"forgekit.toml: colour: is not a setting; the settings are {ALL}",
        ),
        ("stale_days = true", "forgekit.toml: stale_days: must be a whole number from 1 to 1,000,000"),
        ("stale_days = 0", "forgekit.toml: stale_days: must be a whole number from 1 to 1,000,000"),
        ("stale_max_tier = 1.5", "forgekit.toml: stale_max_tier: must be a number from 0.0 to 1.0"),
        ("stale_max_tier = nan", "forgekit.toml: stale_max_tier: must be a number from 0.0 to 1.0"),
        ('conflicts = "ignore"', "forgekit.toml: conflicts: must be one of record, require, refuse"),
        ("conflicts = [1]", "forgekit.toml: conflicts: must be one of record, require, refuse"),
        ("project = 3", "forgekit.toml: project: must be one line of text in quotes"),
        ('judge = "dice"', "forgekit.toml: judge: must be one of trained, llm, off"),
        ('judge_url = "file:///etc/passwd"', NO_ADDRESS),
        ('judge_url = "ftp://host/v1"', NO_ADDRESS),
        ('judge_url = "https://name:secret@host/v1"', NO_ADDRESS),
        ('judge_url = "https://host/v1?key=secret"', NO_ADDRESS),
        ('judge_url = "https://host /v1"', NO_ADDRESS),
        ('judge_url = "127.0.0.1:11434"', NO_ADDRESS),
        ('allowed_secrets = "3f9a1c2b"', NO_FINGERPRINT),
        ('allowed_secrets = ["hunter2"]', NO_FINGERPRINT),
        ('[projects]\njudge = "rules"', MISPLACED.format("judge")),
        ('[projects]\nallowed_secrets = ["3f9a1c2b"]', MISPLACED.format("allowed_secrets")),
        ('[projects]\nNexus = "*nexus*"', NO_PATTERNS),
        ("schema = 3", "forgekit.toml: schema: is 3, and this forgekit reads up to 2; upgrade forgekit"),
    ],
)
def test_what_cannot_be_is_said_and_leaves_the_default(text: str, said: str) -> None:
    settings, problems = read_settings(tomllib.loads(text))
    assert settings == Settings()
    assert [str(problem) for problem in problems] == [said]


def test_a_near_miss_is_a_slip_and_no_other_word() -> None:
    known = ("tags", "status", "originated_in", "superseded_by")
    assert near_miss("tagss", known) == near_miss("tgas", known) == "tags"
    assert near_miss("supercededby", known) == "superseded_by"
    assert near_miss("team", known) is None
    assert near_miss("x" * 5000, known) is None
