"""Secrets in text: what is found, what is left alone, what stands in their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import planted_secrets
import pytest
from guarantees import Level, Report

from forgekit.text.secrets import Redacted, SecretFinding, find, fingerprint, redact

TOKEN = "ghp_" + planted_secrets.drawn(planted_secrets.seeded("a token"), planted_secrets.ALNUM, 36)
NAME = find(TOKEN)[0].fingerprint
MARK = f"[redacted: github-token {NAME}]"
LONG = planted_secrets.drawn(planted_secrets.seeded("a long token"), planted_secrets.ALNUM, 1_400)
GLUED = f"ghp_{LONG[:255]}"
PEM = planted_secrets.planted(planted_secrets.seeded("a key"), 20)[10].secret


def test_a_secret_becomes_a_mark_and_the_rest_stays() -> None:
    assert redact(f"first\r\n\tthe key\u00a0{TOKEN}.\r\n\r\nlast\x0b ") == Redacted(
        text=f"first\r\n\tthe key\u00a0{MARK}.\r\n\r\nlast\x0b ",
        findings=(SecretFinding(rule="github-token", fingerprint=NAME, line=2),),
    )


def test_a_key_of_many_lines_is_one_secret() -> None:
    (found,) = find(f"Here:\n\n{PEM}\n\nRotate it.")
    assert (found.rule, found.line) == ("private-key", 3)
    assert redact(f"Here:\n\n{PEM}\n\nRotate it.").text == (
        f"Here:\n\n[redacted: private-key {found.fingerprint}]\n\nRotate it."
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f'"{PEM}"'.replace("\n", "\\n"), '"{}"'),
        ("> " + PEM.replace("\n", "\n> "), "> {}"),
        (
            "Cut off:\n" + PEM.rsplit("\n", 3)[0] + "\n\nA sentence follows.",
            "Cut off:\n{}\n\nA sentence follows.",
        ),
    ],
)
def test_keys_are_found_as_they_are_quoted_and_cut_off(text: str, left: str) -> None:
    (found,) = find(text)
    assert redact(text).text == left.format(f"[redacted: private-key {found.fingerprint}]")


def test_what_is_allowed_is_kept_and_what_is_not_goes() -> None:
    other = "glpat-" + TOKEN[4:24]
    text = f"{TOKEN} and {other}"
    name = find(other)[0].fingerprint
    assert redact(text, {NAME}).text == f"{TOKEN} and [redacted: gitlab-token {name}]"
    assert redact(text, {NAME, name}) == Redacted(text=text, findings=())


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"GITHUB_TOKEN={TOKEN}", f"GITHUB_TOKEN={MARK}"),
        (f"https://x:{TOKEN}@github.com/a", f"https://x:{MARK}@github.com/a"),
        (f"Authorization: Bearer {TOKEN}", f"Authorization: Bearer {MARK}"),
        (f"-{TOKEN}\n_{TOKEN}_\n%3D{TOKEN}\\n{TOKEN}\\n", f"-{MARK}\n_{MARK}_\n%3D{MARK}\\n{MARK}\\n"),
    ],
)
def test_the_rule_that_knows_a_secret_best_names_it(text: str, left: str) -> None:
    assert redact(text).text == left


def test_a_token_of_hugging_face_has_letters_and_digits() -> None:
    (found,) = find("use hf_" + "aB3dE5fG7hJ9kL1mN0pQ2rS4tU6vW8xY5z" + " for that")
    assert found.rule == "huggingface-token"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password: ", "sommer2024"),
        ("**Passwort:** ", "Gartenhaus77"),
        ("Passwort\uff1a", "sommer2024"),
        ("password: ", "correct-horse-battery-staple"),
        ("Passwort: ", "lfebwNEJIEbTXe"),
        ("Das Passwort lautet ", "Garten#Haus77"),
        ("Das Passwort ist: ", "Garten#Haus77"),
        ("Le mot de passe est ", "Garten#Haus77"),
    ],
)
def test_a_password_that_a_person_chose_is_found_beside_its_name(name: str, value: str) -> None:
    (found,) = find(f"{name}{value}\n")
    assert redact(f"{name}{value}\n").text == f"{name}[redacted: assigned-secret {found.fingerprint}]\n"


@pytest.mark.parametrize(
    "text",
    [
        "password: the usual one",
        "password: ask-for-the-team-vault entry",
        "password: password123",
        "password: Argon2id",
        "password: HTTPPasswordMgr",
        "password: IAmSensitiveBytes",
        "password_hash: scrypt16384",
        "the password is rotated2024",
        "PasswordType: typing.TypeAlias",
    ],
)
def test_a_word_or_a_name_beside_that_of_a_password_is_none(text: str) -> None:
    assert find(text) == ()


def test_a_token_inside_a_longer_word_is_none() -> None:
    assert find(f"x{TOKEN} prefix-{TOKEN}") == ()


def test_what_is_glued_to_a_secret_is_found_however_long_the_chain() -> None:
    name = find(GLUED)[0].fingerprint
    found = redact(GLUED * 50)
    assert found.text == f"[redacted: github-token {name}]" * 50
    assert find(GLUED * 50) == found.findings


def test_half_a_surrogate_pair_is_kept() -> None:
    assert redact(f"\ud800 {TOKEN}").text == f"\ud800 {MARK}"


# A time that grew with the square of the length would not end.
SHAPES: dict[str, Callable[[int], str]] = {
    "prefixes": lambda n: "ghp_" * (n // 4),
    "prefixes apart": lambda n: " sk-" * (n // 4),
    "openings": lambda n: "eyJ" * (n // 3),
    "openings with dots": lambda n: ("eyJ" + "a" * 30 + ".") * (n // 34),
    "one token": lambda n: "a" * n,
    "one token of a kind": lambda n: "sk-" + "aB3" * (n // 3),
    "dashes": lambda n: "-" * n,
    "begins": lambda n: "-----BEGIN PRIVATE KEY-----\n" * (n // 28),
    "a key without end": lambda n: "-----BEGIN PRIVATE KEY-----\n" + ("A" * 64 + "\n") * (n // 65),
    "names": lambda n: "password" * (n // 8),
    "assignments": lambda n: "password=" * (n // 9),
    "assigned dots": lambda n: ("token=" + "." * 200) * (n // 206),
    "quotes": lambda n: "secret='" * (n // 8),
    "addresses": lambda n: "://a:" * (n // 5),
    "long addresses": lambda n: ("://" + "a" * 127 + ":") * (n // 131),
    "bearers": lambda n: "bearer " * (n // 7),
    "bots": lambda n: ("M" + "a" * 24 + ".") * (n // 26),
    "colons": lambda n: "12345678:AA" * (n // 11),
    "line ends": lambda n: "password:" + "\n" * n,
    "marks": lambda n: MARK * (n // len(MARK)),
    "commands": lambda n: "curl -u a:" * (n // 10),
    "commands of one": lambda n: "mysql" + " -pa" * (n // 4),
    "secrets": lambda n: "secret a " * (n // 9),
    "logins": lambda n: "login a password " * (n // 17),
    "keys of PuTTY": lambda n: "Private-Lines: 9\n" * (n // 17),
    "a key of PuTTY without end": lambda n: "Private-Lines: 9\n" + ("A" * 64 + "\n") * (n // 65),
    "signatures": lambda n: "?sig=" * (n // 5),
    "doppler": lambda n: "dp.st." * (n // 6),
    "glued": lambda n: GLUED * (n // len(GLUED)),
    "glued by a dot": lambda n: ("ya29." + LONG[:400]) * (n // 405),
    "glued in three parts": lambda n: f"eyJ{LONG[:30]}.eyJ{LONG[:30]}.{LONG}" * (n // 1_468),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_hostile_text_costs_linear_time(shape: str, level: Level) -> None:
    text = SHAPES[shape](level.pick(200_000, 2_000_000))
    assert find(redact(text).text) == ()


def test_the_kinds_are_found_and_what_looks_like_them_is_not(level: Level, guarantee: Report) -> None:
    random = level.random("secrets")
    secrets = planted_secrets.planted(random, level.pick(200, 20_000))
    total = Counter(p.kind for p in secrets)
    found = Counter(p.kind for p in secrets if p.secret not in redact(p.text).text)
    texts = planted_secrets.benign(random, level.pick(5_000, 100_000))
    wrong = [text for text in texts if find(text)]
    rates = ", ".join(f"{kind} {found[kind] / total[kind]:.0%}" for kind in total)
    shaped = [kind for kind in total if kind not in planted_secrets.LOOSE]
    share = sum(found[kind] for kind in shaped) / sum(total[kind] for kind in shaped)
    guarantee("G18", "secrets found, by kind", rates)
    guarantee("G18", "secrets found, of fixed shape", f"{share:.1%} of {sum(total[k] for k in shaped):,}")
    guarantee("G18", "look-alikes taken for secrets", f"{len(wrong)} of {len(texts):,}")
    assert total.keys() == planted_secrets.KINDS.keys()
    assert share >= 0.95
    assert len(wrong) / len(texts) <= 0.005, wrong[:5]


def test_a_fingerprint_never_changes_for_people_keep_it_in_their_settings() -> None:
    assert fingerprint(b"a secret") == "c46d0f1c"
