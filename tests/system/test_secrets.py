"""Secrets on every way into a registry: taken out or refused before anything is written."""

from __future__ import annotations

import json
import re
import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path

import planted_secrets
import pytest
from cli_runner import Cli, Ran
from fake_encoder import FakeEncoder
from guarantees import Level, Report
from planted_secrets import Planted
from repositories import git

from forgekit.hooks.pre_commit import run
from forgekit.text.secrets import find, redact

TOKEN = "glpat-" + planted_secrets.drawn(planted_secrets.seeded("a token"), planted_secrets.ALNUM, 20)
NAME = find(TOKEN)[0].fingerprint
OTHER = (
    "SG."
    + planted_secrets.drawn(planted_secrets.seeded("b"), planted_secrets.ALNUM, 22)
    + "."
    + TOKEN[6:] * 2
    + "abc"
)
HEAD = "# Work\n\n**Compression tag:** `WORK`\n\n### D001: Rotate the keys\n\n"
PATH = "registry/decisions/2026-04/019d48ea-2e00-8df5-8114-6c25c7644adc.md"
REFUSED = (
    "this looks like a secret (gitlab-token {name}), and nothing was written; remove it, "
    "or pass --allow {name} (for good: `allowed_secrets` in forgekit.toml)\n"
)


def archive(number: int, secrets: Sequence[Planted]) -> str:
    """Write an archive in whose records and prose secrets stand."""
    lines = [
        f"# Work {number}",
        "",
        f"**Session ID:** SESSION_{number}",
        f"**Compression tag:** `WORK_{number}`",
        "",
    ]
    words = planted_secrets.seeded(str(number))
    for index, each in enumerate(secrets[:2], 1):
        name = planted_secrets.drawn(words, "abcdefgh", 9)
        lines += [
            f"### D{index:03}: Rotate the {name} keys",
            "",
            "**Rationale:** it leaked.",
            "",
            each.text,
            "",
        ]
    lines += ["## Notes", "", *(f"{each.text}\n" for each in secrets[2:])]
    return "\n".join(lines)


def transcript(number: int, secrets: Sequence[Planted]) -> str:
    """Write a transcript with one compaction, whose summary holds secrets."""
    at = f"2026-03-{number + 1:02}T12:00:00.000Z"
    summary = (
        "This session is being continued from a previous conversation that ran out of context.\n\nSummary:\n"
        "1. Primary Request and Intent:\n   Rotate the keys.\n\n"
        + "".join(f"   {each.text}\n\n" for each in secrets)
        + "7. Pending Tasks:\n   - Tell everybody\n"
    )
    common = {"sessionId": f"session-{number}", "cwd": "/home/dev/keys", "timestamp": at}
    talk = {"type": "user", "uuid": "u1", **common, "message": {"role": "user", "content": secrets[0].text}}
    compact = {
        "type": "user",
        "uuid": "u2",
        "isCompactSummary": True,
        **common,
        "message": {"content": summary},
    }
    return json.dumps(talk) + "\n" + json.dumps(compact) + "\n"


def needles(secret: str) -> set[bytes]:
    """Return what betrays a secret, also where an index has cut it into words: its longest runs."""
    runs = sorted(re.findall(r"[A-Za-z0-9]{10,}", secret), key=len, reverse=True)
    return {secret.lower().encode(), *(run.lower().encode() for run in runs[:2] if len(run) >= 16)}


def everything(root: Path) -> dict[str, bytes]:
    """Return all that was written: every git object, reachable or not, and every file, in lower case."""
    objects = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"],
        cwd=root,
        capture_output=True,
        check=True,
    ).stdout
    out = {"git objects": objects.lower()}
    for path in root.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if path.parent.parent.name == "objects":
                data = zlib.decompress(data)
            out[str(path.relative_to(root))] = data.lower()
    return out


def test_planted_secrets_are_nowhere(
    registry: Path,
    tmp_path: Path,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    level: Level,
    guarantee: Report,
) -> None:
    monkeypatch.setattr("forgekit.models.encoder.find_encoder", lambda *_: FakeEncoder())
    secrets = planted_secrets.planted(level.random("planted"), 200)
    found = [each for each in secrets if find(each.text)]
    said: list[Ran] = []
    for number in range(10):
        file = tmp_path / f"{number}.md"
        file.write_text(archive(number, secrets[number * 8 : number * 8 + 8]), encoding="utf-8")
        said.append(
            cli("sync-compression", "--project", "Keys", "--at", f"2026-02-{number + 1:02}", str(file))
        )
        file = tmp_path / f"{number}.jsonl"
        part = secrets[80 + number * 6 : 86 + number * 6]
        file.write_text(transcript(number, part), encoding="utf-8")
        said.append(cli("sync-compression", "--project", "Keys", str(file), "--json"))
    assert {ran.code for ran in said} == {0}
    typed = secrets[140:]
    for number, each in enumerate(typed):
        line = f"Rotate {each.text}" if "\n" not in each.text else f"Rotate {number}"
        ways = (
            ("decision", "new", line, "--rationale", each.text),
            ("decision", "new", f"Rotate {number}", "--context", each.text, "--dry-run"),
            ("thread", "new", f"Who rotates {number}?", "--content", each.text),
        )
        said.append(ran := cli(*ways[number % 3], "--project", "Keys"))
        assert (ran.code, ran.out) == ((1, "") if find(each.text) else (0, ran.out)), each.kind
    said += [cli("index", "build"), cli("search", "rotate", "--json"), cli("check"), cli("doctor")]
    assert any("vectors" in path for path in everything(registry))
    told = {f"output {n}": (ran.out + ran.err).lower().encode() for n, ran in enumerate(said)}
    places = everything(registry) | told
    leaked = [
        (each.kind, place)
        for each in found
        for needle in needles(each.secret)
        for place, data in places.items()
        if needle in data
    ]
    count = len({kind for kind, _ in leaked})
    guarantee("G18", "planted secrets found", f"{len(found)} of {len(secrets)}")
    guarantee("G18", "kinds of them in an object, cache, index, log or output", f"{count} of 20")
    assert leaked == []
    assert len(found) >= 190


def test_an_archive_is_filed_without_its_secrets_and_the_report_says_which(registry: Path, cli: Cli) -> None:
    text = HEAD + f"It was {TOKEN}, then {OTHER}; {TOKEN}.\n"
    other = find(OTHER)[0].fingerprint
    kept = f"(--allow {NAME} keeps the first)"
    arguments = ("sync-compression", "--archive", "-", "--project", "Keys", "--at", "2026-03-01")
    ran = cli(*arguments, root=registry, stdin=text.encode())
    assert (ran.code, ran.out.splitlines()[1:]) == (
        0,
        [
            "  read 1 of 1 id, 1 labelled field",
            "  decisions: 1 new, 0 known, 0 carried",
            "  threads: 0 new, 0 resolved, 0 still open",
            "  + D001  active  Rotate the keys",
            f"  warning: WORK: 2 gitlab-token redacted: {NAME} (line 7), {NAME} (line 7) {kept}",
            f"  warning: WORK: 1 sendgrid-key redacted: {other} (line 7) (--allow {other} keeps it)",
        ],
    )
    filed = git(registry, "show", "HEAD:" + git(registry, "ls-files", "archives/*/*").strip())
    assert filed.endswith("\n---\n\n" + redact(text).text)
    assert f"It was [redacted: gitlab-token {NAME}], then [redacted: sendgrid-key {other}]; [" in filed
    tip = git(registry, "rev-parse", "HEAD")
    for allowed in ((), ("--allow", NAME)):
        assert cli(*arguments, *allowed, stdin=text.encode()).err == "already filed: nothing to do\n"
    assert git(registry, "rev-parse", "HEAD") == tip


def test_what_is_allowed_is_filed_as_it_is(registry: Path, cli: Cli) -> None:
    text = HEAD + f"It was {TOKEN}.\n"
    arguments = ("sync-compression", "--archive", "-", "--project", "Keys", "--at", "2026-03-01")
    ran = cli(*arguments, "--allow", NAME, root=registry, stdin=text.encode())
    assert (ran.code, len(ran.out.splitlines())) == (0, 5)
    assert git(registry, "show", "HEAD:" + git(registry, "ls-files", "archives/*/*").strip()).endswith(text)
    assert cli(*arguments, stdin=text.encode()).err == "already filed: nothing to do\n"


def test_what_a_person_types_is_refused_by_field_and_line(registry: Path, cli: Cli) -> None:
    new = ("decision", "new", "Rotate the keys", "--project", "Keys")
    assert cli(*new, "--context", "Since May.", "--rationale", f"One\ntwo {TOKEN}", root=registry) == Ran(
        1, "", f"forgekit: {PATH}:14: rationale: " + REFUSED.format(name=NAME)
    )
    assert cli(*new, "--tag", TOKEN).err == f"forgekit: {PATH}:9: tags: " + REFUSED.format(name=NAME)
    assert not (registry / PATH).exists()
    wrong = cli(*new, "--rationale", TOKEN, "--allow", TOKEN)
    assert (wrong.code, wrong.out) == (2, "")
    assert TOKEN not in wrong.err
    assert cli(*new, "--rationale", TOKEN, "--allow", NAME).code == 0
    # It is in the history now: other changes of the file are no new disclosure, a second secret is.
    assert cli("decision", "edit", "Rotate the keys", "--tag", "keys").code == 0
    ran = cli("decision", "edit", "Rotate the keys", "--rationale", f"{TOKEN} {OTHER}")
    assert (ran.code, OTHER in ran.err, "sendgrid-key" in ran.err) == (1, False, True)


def test_the_settings_allow_for_good(registry: Path, cli: Cli) -> None:
    path = registry / "forgekit.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("allowed_secrets = []", f'allowed_secrets = ["{NAME}"]'), encoding="utf-8")
    assert (
        cli("thread", "new", "Who rotates?", "--content", TOKEN, "--project", "Keys", root=registry).code == 0
    )
    assert cli("check").code == 0
    path.write_text("allowed_secrets = 3\n", encoding="utf-8")
    ran = cli("check")
    assert (ran.code, "allowed_secrets" in ran.err) == (1, True)
    path.write_text("allowed_secrets = []\n", encoding="utf-8")
    ran = cli("check")
    assert (ran.code, f"this looks like a secret: gitlab-token {NAME}" in ran.out) == (1, True)


def test_the_hook_refuses_a_secret_that_was_written_by_hand(
    registry: Path, cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        cli("decision", "new", "Rotate the keys", "--project", "Keys", "--rationale", "x", root=registry).code
        == 0
    )
    path = registry / PATH
    sound = path.read_text(encoding="utf-8")
    finding = (
        f"{PATH}:{{}}: this looks like a secret: gitlab-token {NAME}"
        f' (take it out; or put "{NAME}" into `allowed_secrets` of forgekit.toml)'
    )
    path.write_text(f"{sound}\nand {TOKEN}\n", encoding="utf-8")
    assert run("check", [PATH], registry) == 1
    assert capsys.readouterr().out.splitlines() == [finding.format(sound.count("\n") + 2)]
    # A file that cannot be read as a decision is searched all the same, and what quotes it is redacted.
    path.write_text(sound.replace("status: active", f"status: {TOKEN}"), encoding="utf-8")
    assert run("check", [PATH], registry) == 1
    out = capsys.readouterr().out
    assert finding.format(4) in out.splitlines()
    assert TOKEN not in out
