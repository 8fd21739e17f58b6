"""The settings of a registry: `forgekit.toml`, read from its parsed form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from forgekit.frozen import frozen, replace
from forgekit.model.problem import Problem, Severity
from forgekit.model.rules import near_miss

SCHEMA_VERSION = 2
SETTINGS_FILE = "forgekit.toml"

_SCHEMA = re.compile(r"^(schema[ \t]*=[ \t]*)(\d{1,5})(?=[ \t]*(?:#.*)?\r?$)", re.MULTILINE)


def schema_of(text: str) -> int:
    """Return the schema that a settings file names, whatever else is right or wrong in it."""
    found = _SCHEMA.search(text)
    return int(found[2]) if found else SCHEMA_VERSION


def with_schema(text: str) -> str:
    """Return a settings file that names the present schema, where it named one."""
    return _SCHEMA.sub(rf"\g<1>{SCHEMA_VERSION}", text, count=1)


def schema_fault(schema: int) -> str | None:
    """Return why files of a schema are neither read nor written, or None where they are."""
    if schema > SCHEMA_VERSION:
        return f"is {schema}, and this forgekit reads up to {SCHEMA_VERSION}; upgrade forgekit"
    if schema < SCHEMA_VERSION:
        return f"is {schema}; `forgekit init` brings the registry to {SCHEMA_VERSION}"
    return None


_URL = r"(?a)https?://(?:[\w.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\])(?::[0-9]{1,5})?(?:/[\w./~-]{0,200})?"

_FINGERPRINT = re.compile(r"[0-9a-f]{8}")
_SCHEMA_MOST = 99_999


class OpenConflicts(Enum):
    """What the commit hook for conflicts does."""

    RECORD = "record"  # wants each contradiction recorded, and passes
    REQUIRE = "require"  # the same, and refuses a commit where no model can look for contradictions
    REFUSE = "refuse"  # refuses a commit that touches an open verdict


class ModelKind(Enum):
    """Which model judges pairs of decisions, or reads conversations."""

    TRAINED = "trained"  # the small model that comes with forgekit
    LLM = "llm"  # a language model behind an address
    OFF = "off"  # none


OwnLabels = tuple[tuple[str, tuple[str, ...]], ...]
"""Fields of archives, each with the labels that a registry's owners add."""
_FORMER_JUDGES = frozenset(("rules", "nli"))  # of the first version; read as "trained"


@frozen(kw_only=True)
class Settings:
    """What a registry's owners chose; `DEFAULT_TOML` says what each key means.

    Attributes:
        warnings: about values that are read as others.
    """

    schema: int = SCHEMA_VERSION
    project: str | None = None
    stale_days: int = 30
    stale_hops: int = 3
    stale_max_tier: float | None = None
    budget: int = 4000
    conflicts: OpenConflicts = OpenConflicts.RECORD
    model: str | None = None
    judge: ModelKind = ModelKind.TRAINED
    reader: ModelKind = ModelKind.TRAINED
    essences: ModelKind = ModelKind.TRAINED
    apply_topics: bool = False
    judge_model: str | None = None
    judge_url: str | None = None
    judge_timeout: int = 60
    allowed_secrets: tuple[str, ...] = ()
    keep_text: bool = False
    mcp_write: bool = False
    prompt_hook: bool = True
    inject: str | None = None
    labels: OwnLabels = ()
    components: tuple[tuple[str, tuple[str, ...]], ...] = ()
    projects: tuple[tuple[str, tuple[str, ...]], ...] = ()
    warnings: tuple[Problem, ...] = ()


DEFAULT_TOML = """\
# Settings of this forgekit registry. A key left out has the value shown here.

schema = 2              # version of the file format; forgekit raises it, people do not
project = ""            # project that commands work on where none is named; "" = ask
stale_days = 30         # a decision is stale when nobody validated it for this many days ...
stale_hops = 3          # ... or when this many compressions in a row left it out
stale_max_tier = 1.0    # decisions of a higher tier are never stale; 1.0 = any decision can be
budget = 4000           # tokens that a block to paste may have
conflicts = "record"    # commit hook: "record" conflicts, "require" a model that finds them, "refuse" open
model = ""              # name or folder of the embedding model; "" = the default one
judge = "trained"       # judge of conflicts: "trained" (a small model), "llm" (a language model), "off"
reader = "trained"      # reader of conversations: "trained", "llm", "off" (records and labelled lists alone)
essences = "trained"    # who condenses notes: "trained" (chooses sentences of theirs), "llm", "off"
apply_topics = false    # whether `forgekit maintain` changes topics; else `forgekit note threads apply` does
judge_model = ""        # the language model's name, of judge, reader and essences
judge_url = ""          # the language model's server: http://127.0.0.1:11434 (Ollama), https://host/v1
judge_timeout = 60      # seconds that one answer of the language model may take
allowed_secrets = []    # fingerprints of what looks like a secret and may be written: ["3f9a1c2b"]
keep_text = false       # whether `ingest` keeps the whole text of conversations
mcp_write = false       # whether agents write over MCP; else what they record waits for `forgekit review`
prompt_hook = true      # whether a coding agent is told of decisions that a prompt touches
inject = ""             # file that conventions are written into at the start of a session: "CLAUDE.md"

[labels]                # more words that archives use for a field: rationale = ["Cause", "Weil wir"]

[components]            # that decisions govern, by path: "storage" = ["src/store/**", "migrations/*.sql"]

[projects]              # of ingested conversations, by title or folder: "The Nexus" = ["Nexus *", "*/nexus"]
"""


def _value(
    wanted: str, fits: Callable[[Any], object], made: Callable[[Any], object] = lambda value: value
) -> Callable[[object], object]:
    """Return a reader of values that fit, which raises ValueError with what is wanted for others."""

    def read(value: object) -> object:
        if not fits(value):
            raise ValueError(f"must be {wanted}")
        return made(value)

    return read


def _one_of(kind: type[Enum]) -> Callable[[object], object]:
    names = [choice.value for choice in kind]
    return _value(f"one of {', '.join(names)}", lambda value: value in names, kind)


def _version(value: object) -> object:
    if type(value) is not int or not 0 <= value <= _SCHEMA_MOST:
        raise ValueError(f"must be a whole number up to {SCHEMA_VERSION}")
    if fault := schema_fault(value):
        raise ValueError(fault)
    return value


def is_fingerprint(text: object) -> bool:
    """Say whether a value is the fingerprint of a secret."""
    return isinstance(text, str) and _FINGERPRINT.fullmatch(text) is not None


_TEXT = _value(
    "one line of text in quotes",
    lambda value: isinstance(value, str) and not {"\n", "\r"} & set(value),
    lambda value: value.strip() or None,
)
_SWITCH = _value("true or false", lambda value: isinstance(value, bool))
_WHOLE = _value(
    "a whole number from 1 to 1,000,000", lambda value: type(value) is int and 1 <= value <= 1_000_000
)


def project_matching(patterns: tuple[tuple[str, tuple[str, ...]], ...], texts: Iterable[str]) -> str:
    """Return the first project with a pattern that one of some texts matches, whatever its case; "" for none.

    Args:
        patterns: of titles and working folders, by project.
    """
    folded = [text.casefold() for text in texts if text]
    for project, some in patterns:
        if any(fnmatchcase(text, pattern.casefold()) for pattern in some for text in folded):
            return project
    return ""


def _patterns(table: str, example: str, value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: list[tuple[str, Any]] = list(value.items()) if isinstance(value, dict) else [("", None)]
    for name, texts in found:
        lists = isinstance(texts, list) and all(isinstance(t, str) and len(t) <= 200 for t in texts)
        # What is added at the end of the file lands here; fingerprints could be a project's patterns.
        if name in _READERS and (not lists or name == "allowed_secrets"):
            raise ValueError(
                f"holds `{name}`, which is a setting; set it above [{table}] and take it out here"
            )
        if not (lists and name.strip()):
            raise ValueError(f"must be a table of {table} with lists of patterns: {example}")
    return tuple((" ".join(name.split()), tuple(texts)) for name, texts in found)


_READERS: Mapping[str, Callable[[object], object]] = {
    "schema": _version,
    "project": _TEXT,
    "stale_days": _WHOLE,
    "stale_hops": _WHOLE,
    "stale_max_tier": _value(
        "a number from 0.0 to 1.0",
        lambda value: type(value) in (int, float) and 0 <= value <= 1,
        lambda value: None if value == 1 else float(value),
    ),
    "budget": _WHOLE,
    "conflicts": _one_of(OpenConflicts),
    "model": _TEXT,
    "judge": _one_of(ModelKind),
    "reader": _one_of(ModelKind),
    "essences": _one_of(ModelKind),
    "apply_topics": _SWITCH,
    "judge_model": _TEXT,
    "judge_url": _value(
        "an address such as http://127.0.0.1:11434 or https://host/v1, and no more",
        lambda value: isinstance(value, str) and (not value.strip() or re.fullmatch(_URL, value.strip())),
        lambda value: value.strip().rstrip("/") or None,
    ),
    "judge_timeout": _WHOLE,
    "allowed_secrets": _value(
        'a list of fingerprints, as a refusal names them: ["3f9a1c2b"]',
        lambda value: isinstance(value, list) and all(map(is_fingerprint, value)),
        tuple,
    ),
    "keep_text": _SWITCH,
    "mcp_write": _SWITCH,
    "prompt_hook": _SWITCH,
    "inject": _value(
        '"CLAUDE.md", "AGENTS.md" or ""',
        ("CLAUDE.md", "AGENTS.md", "").__contains__,
        lambda value: value or None,
    ),
    "labels": partial(_patterns, "labels", 'rationale = ["Cause"]'),
    "components": partial(_patterns, "components", '"storage" = ["src/store/**"]'),
    "projects": partial(_patterns, "projects", '"The Nexus" = ["*nexus*"]'),
}


def read_settings(data: Mapping[str, object]) -> tuple[Settings, list[Problem]]:
    """Read parsed TOML; a key at fault keeps its default and is reported."""
    problems, warnings = [], []
    values: dict[str, object] = {}
    for key, value in data.items():
        if key not in _READERS:
            problems.append(_problem("unknown-setting", key, _unknown(key)))
        elif key == "judge" and value in _FORMER_JUDGES:
            message = f'"{value}" is no longer a judge and is read as "trained"'
            fix = 'set `judge` to "trained", "llm" or "off"'
            warning = _problem("former-judge", key, message)
            warnings.append(replace(warning, fix=fix, severity=Severity.WARNING))
        else:
            try:
                values[key] = _READERS[key](value)
            except ValueError as e:
                problems.append(_problem("bad-setting", key, str(e)))
    settings = Settings(**values)  # type: ignore[arg-type] # each reader returns what its field holds
    return replace(settings, warnings=tuple(warnings)), problems


def _unknown(key: str) -> str:
    meant = near_miss(key, _READERS)
    known = f"did you mean `{meant}`?" if meant else f"the settings are {', '.join(_READERS)}"
    return f"is not a setting; {known}"


def _problem(code: str, key: str, message: str) -> Problem:
    return Problem(code=code, path=SETTINGS_FILE, field=key, message=message)
