"""Find secrets in text and put marks in their place.

A **fingerprint** names a secret without revealing it: 8 hex digits of a hash. A **mark** replaces a secret
and names its rule and fingerprint: `[redacted: github-token 3f9a1c2b]`.

A rule names **anchors**, of which every secret of its kind has one, and a **shape** that is matched
where an anchor was found. So a text is walked by searches for fixed bytes and for **tokens**, its long runs
of letters, digits, `_` and `-`; each match is bounded, and the time is linear whatever the text holds. The
group `s` of a shape is the secret itself. Shapes are those that the issuers document, or that their keys
show; what is a placeholder, a reference to a variable or made of words is no secret. Rules are tried on
bytes, where classes mean ASCII and lower case keeps every offset.

Laws: the rest of the text is kept byte for byte; the same text gives the same marks on every machine; what
`redact` returns holds no finding.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import NamedTuple

Accept = Callable[[re.Match[bytes]], bool]


class Where(Enum):
    """Where the anchors of a rule are looked for."""

    TOKEN = "token"  # noqa: S105 - no password; at the beginning of a token, or ending with a dot just before one
    TEXT = "text"  # anywhere
    WORD = "word"  # anywhere, in any case; the anchors are written in lower case


class Rule(NamedTuple):
    """One kind of secret.

    Attributes:
        name: what marks and messages call it.
        anchors: bytes, one of which the shape starts with.
        shape: matched at an anchor.
        accept: whether what matched is more than a placeholder.
    """

    name: str
    where: Where
    anchors: tuple[bytes, ...]
    shape: bytes
    accept: Accept


# Patterns without `compile` are compiled when they are first used: most texts hold nothing like a secret.
_PLACEHOLDER = (
    rb"(?is)example|sample|placeholder|changeme|change[-_]me|dummy|redacted|your[-_a-z]|my[-_]secret|insert"
    rb"|abcdefgh|12345678|qwerty|deadbeef|(.)\1{5}"
)
_JUDGED = 128
"""Bytes of a value that are looked at to tell whether it is a secret."""
_WORDY = rb"[A-Za-z]{0,64}[0-9]{0,4}"
_SPLIT = rb"[-_./:+=~]"
_SYMBOL = rb"[!@#$%^&?*~]"
_CLASSES = re.compile(rb"[a-z]"), re.compile(rb"[A-Z]"), re.compile(rb"[0-9]")
_UUID = rb"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_OWNED = re.compile(
    rb"(?:auth|access|api|bot|refresh|bearer|private|deploy|github|gitlab|gitea|gh|jenkins|sonar)[-_ ]?\Z",
    re.IGNORECASE,
)
_HEX = rb"[0-9a-fA-F]{1,256}"
_BORDER = rb"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])|[a-z](?=[A-Z])"
_LONG_RUN = rb"(?=[A-Za-z]{0,200}[0-9])(?=[0-9]{0,200}[A-Za-z])[A-Za-z0-9]{16,200}"
_REFERENCE = rb"[$%<{\[]|(?:process\.|os\.|env[.:]|secrets?\.|vault:|op://|arn:|sha(?:1|256|512)[:-])"
_PLAIN_NAME = re.compile(
    rb"[A-Za-z\x80-\xee]{2,24}+(?:\\?[\"'`]|[*\]]){0,3}+[ \t]{0,4}(?::=|=>|[=:|]|\xef\xbc\x9a)"
)
"""The name of a password that is one word, and what assigns to it."""
_NUMBERED = rb"([A-Za-z\x80-\xff]{3,64})[0-9]{2,8}"
_PASSPHRASE = rb"[A-Za-z]{3,32}(?:-[A-Za-z]{3,32}){3,15}"
_MORE_WORDS = re.compile(rb"[ \t]+[A-Za-z0-9]")
_PIECE = rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+"
"""One word of a name in camel case."""
_COMMON = frozenset(
    {
        *(b"password", b"passwd", b"pass", b"pwd", b"pw", b"secret", b"token", b"key", b"user", b"username"),
        *(b"root", b"admin", b"test", b"guest", b"postgres", b"mysql", b"rabbitmq", b"mongo", b"redis"),
        *(b"foo", b"bar", b"login", b"apikey", b"api_key", b"credentials", b"creds", b"x-oauth-basic"),
    }
)


def entropy(value: bytes) -> float:
    """Return Shannon's entropy of a value's bytes, in bits per byte."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


def _random(match: re.Match[bytes]) -> bool:
    """Say whether a token of fixed shape could have been drawn: no placeholder, not a few bytes repeated."""
    value = match["s"]
    return re.search(_PLACEHOLDER, value) is None and entropy(value) >= 2.8


def _key_of_letters(match: re.Match[bytes]) -> bool:
    """As `_random`, with one long run of letters and digits: `sk-` begins many a name too."""
    return _random(match) and re.search(_LONG_RUN, match["s"]) is not None


def _always(_: re.Match[bytes]) -> bool:
    """Accept the shape alone."""
    return True


def _drawn(value: bytes) -> bool:
    """Say whether a value of unknown shape, in a place for a secret, looks drawn rather than written."""
    if len(value) < 16 or re.fullmatch(_UUID, value) or entropy(value) < 3.0:
        return False
    if all(re.fullmatch(_WORDY, part) for part in re.split(_SPLIT, value)):
        return False
    return sum(1 for _ in re.finditer(_BORDER, value)) >= 4


def _no_value(value: bytes) -> bool:
    """Say whether a value is a placeholder, a reference to where the secret is, or an address."""
    return bool(re.search(_PLACEHOLDER, value) or re.match(_REFERENCE, value) or b"://" in value)


def _secret(match: re.Match[bytes]) -> bool:
    """Say whether a value in a place for a secret looks drawn."""
    value = match["s"][:_JUDGED]
    return _drawn(value) and not _no_value(value)


def _password(match: re.Match[bytes]) -> bool:
    """Say whether a value in a place for a password looks chosen by a person, or drawn."""
    value = match["s"][:_JUDGED]
    return (_chosen(value) or _drawn(value)) and not _no_value(value)


def _assigned(match: re.Match[bytes]) -> bool:
    value, name = match["s"][:_JUDGED], match["name"].lower()
    if match.string[match.end("s") : match.end("s") + 1] in {b"(", b"["}:
        return False  # a call, or a place in a list
    if name.startswith((b"pass", b"pw", *_FOREIGN)):
        return _password(match) or (
            _PLAIN_NAME.match(match.string, match.start()) is not None and _noted(match)
        )
    if name == b"token" and re.fullmatch(_HEX, value):  # a hash as a rule
        owner = _OWNED.search(match.string, max(match.start() - 16, 0), match.start())
        return owner is not None and _drawn(value)
    return _secret(match)


def _chosen(value: bytes) -> bool:
    """Say whether a value looks like a password that a person chose."""
    classes = sum(kind.search(value) is not None for kind in _CLASSES)
    if re.search(_SYMBOL, value):
        return classes >= 2
    return classes >= 2 and sum(1 for _ in re.finditer(_BORDER, value)) >= 3


def _noted(match: re.Match[bytes]) -> bool:
    """Say whether the value of a line `password: VALUE` has a form that names, types and references do not.

    That is a word with a number behind it, four words with hyphens that nothing follows, or letters of
    which cases change as in no name.
    """
    value = match["s"]
    if _no_value(value):
        return False
    if numbered := re.fullmatch(_NUMBERED, value):
        return numbered[1].lower() not in _COMMON
    if re.fullmatch(_PASSPHRASE, value):
        return _MORE_WORDS.match(match.string, match.end("s")) is None
    pieces = len(re.findall(_PIECE, value)) if 12 <= len(value) <= _JUDGED and value.isalpha() else 0
    return pieces >= 4 and len(value) <= 3 * pieces


def _in_address(match: re.Match[bytes]) -> bool:
    value = match["s"]
    masked = not value.strip(b"*xX.-_")
    return not (masked or _no_value(value) or value.lower() in _COMMON)


def _command(*names: bytes) -> Accept:
    """Accept a password among the arguments of one of some commands on the same line."""

    def accept(match: re.Match[bytes]) -> bool:
        begin = max(match.start() - 256, match.string.rfind(b"\n", 0, match.start()) + 1, 0)
        called = any(match.string.find(name, begin, match.start()) >= 0 for name in names)
        return called and not match["s"].isdigit() and _in_address(match)

    return accept


def _near_mailgun(match: re.Match[bytes]) -> bool:
    before = match.string[max(match.start() - 200, 0) : match.start()].lower()
    return (b"mailgun" in before or before.endswith(b"api:")) and _random(match)


def _aws_secret(match: re.Match[bytes]) -> bool:
    return all(kind.search(match["s"]) for kind in _CLASSES) and _secret(match)


def _prefixed(name: str, prefixes: str, rest: bytes, accept: Accept = _random) -> Rule:
    """Return the rule of tokens that begin with one of some prefixes."""
    anchors = tuple(prefix.encode() for prefix in prefixes.split())
    start = b"|".join(re.escape(anchor) for anchor in anchors)
    return Rule(name, Where.TOKEN, anchors, rb"(?P<s>(?:%s)%s)" % (start, rest), accept)


_END = rb"(?![A-Za-z0-9])"
_GAP = rb"(?:\\{1,4}[nrt]|[ \t\r\n>|+\"',]){0,12}+"
_BASE64_LINES = (
    rb"(?:" + _GAP + rb"(?:[A-Za-z0-9+/=]{16,8192}+|[A-Z][A-Za-z-]{2,20}: [^\r\n\\]{1,120}+)){1,200}+"
)
_PEM = (
    rb"(?P<s>-----BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----%b(?:(?:%b=?[A-Za-z0-9+/=]{1,80}+){0,3}?%b"
    rb"-----END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----)?)"
) % (_BASE64_LINES, _GAP, _GAP)
_PUTTY = (
    rb"Private-Lines: [0-9]{1,4}%b(?P<s>[A-Za-z0-9+/=]{16,8192}+(?:%b[A-Za-z0-9+/=]{16,8192}+){0,400}+"
    rb"(?:%b[A-Za-z0-9+/=]{1,80}+(?=%bPrivate-))?)"
) % (_GAP, _GAP, _GAP, _GAP)
_FOREIGN = tuple(
    map(str.encode, ("senha", "kennwort", "contrase", "парол", "Парол", "パスワード", "密码", "密碼"))
)
"""How other languages name a password, beside those that say `passw...`."""
_NAMES = (
    *(b"passw", b"passphrase", rb"passe(?![a-z])", b"pwd", rb"(?<![a-z0-9_])pw(?![a-z0-9_])"),
    *(b"secret", b"token", b"credential", *_FOREIGN),
)
_IS = (b"is", b"was", b"ist", b"war", b"lautet", b"est", b"es", b"\xc3\xa9")
"""What assigns in a sentence, in the languages of these names."""
# The key of an account, shared or not, is how Azure's connection strings say it.
_OWNERS = (b"api", b"access", b"account", b"private", b"signing", b"encryption", b"auth")
_KEY = b"|".join(rb"(?<=%s)|(?<=%s[-_ ])" % (owner, owner) for owner in _OWNERS)
_ASSIGNED = (
    rb"(?i:(?P<name>%s|(?:%s)key))[A-Za-z0-9_\x80-\xee-]{0,24}+(?:\\?[\"'`]|[*\]]){0,3}+"
    rb"(?:[ \t]{0,4}+(?::=|=>|[=:|]|\xef\xbc\x9a)|[ \t](?i:%s):?(?=[ \t]))(?:\*|[ \t\r\n]){0,6}+"
    rb"(?:[bfru@]?\\?(?P<q>[\"'`]))?+"
    rb"(?P<s>(?(q)[^\s\"'`\\]{8,512}|[^\s\"'`<>\[\](){}|,;\\*]{8,512}))(?<![.:])"
) % (b"|".join(_NAMES), _KEY, b"|".join(_IS))

# fmt: off
RULES: tuple[Rule, ...] = (
    Rule("private-key", Where.TEXT, (b"-----BEGIN ",), _PEM, _always),
    _prefixed("aws-access-key", "AKIA ASIA ABIA ACCA", rb"[A-Z2-7]{16}" + _END),
    _prefixed("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rb"[A-Za-z0-9]{36,255}+"),
    _prefixed("github-token", "github_pat_", rb"[A-Za-z0-9_]{60,120}+"),
    _prefixed("gitlab-token",
        "glpat- gldt- glrt- glft- glsoat- glcbt- glptt- glagent- gloas- glimt- GR1348941",
        rb"[A-Za-z0-9_-]{20,128}+(?:\.[A-Za-z0-9_-]{2,64}+){0,3}"),
    _prefixed("slack-token", "xoxa- xoxb- xoxp- xoxo- xoxr- xoxs- xoxe- xapp-", rb"[A-Za-z0-9-]{20,255}+"),
    Rule("slack-webhook", Where.TEXT, (b"://",),
        rb"://hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9_/]{20,120}+)", _random),
    Rule("discord-webhook", Where.TEXT, (b"://",),
        rb"://(?:[a-z]{1,10}\.)?discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/(?P<s>[A-Za-z0-9_-]{50,100}+)",
        _random),
    _prefixed("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", rb"[A-Za-z0-9]{10,200}+"),
    _prefixed("webhook-secret", "whsec_", rb"[A-Za-z0-9+/=]{24,100}+"),
    _prefixed("anthropic-key", "sk-ant-", rb"[A-Za-z0-9_-]{32,200}+"),
    _prefixed("openai-key", "sk-", rb"[A-Za-z0-9_-]{20,200}+", _key_of_letters),
    _prefixed("google-api-key", "AIza", rb"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _prefixed("google-oauth", "GOCSPX-", rb"[A-Za-z0-9_-]{20,60}+"),
    _prefixed("google-oauth", "ya29.", rb"[A-Za-z0-9_-]{20,400}+"),
    _prefixed("npm-token", "npm_", rb"[A-Za-z0-9]{36}" + _END),
    _prefixed("pypi-token", "pypi-AgE", rb"[A-Za-z0-9_-]{50,400}+"),
    _prefixed("sendgrid-key", "SG.", rb"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}+"),
    _prefixed("twilio-key", "SK", rb"[0-9a-f]{32}" + _END),
    _prefixed("huggingface-token", "hf_ api_org_", rb"[A-Za-z0-9]{34}" + _END),
    _prefixed("model-key",
        "gsk_ xai- pplx- r8_ tvly- nvapi- fw_", rb"[A-Za-z0-9_-]{30,120}+", _key_of_letters),
    _prefixed("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rb"[0-9a-f]{64}" + _END),
    _prefixed("shopify-token", "shpat_ shpca_ shppa_ shpss_", rb"[0-9a-fA-F]{32}" + _END),
    _prefixed("docker-token", "dckr_pat_ dckr_oat_", rb"[A-Za-z0-9_-]{27,40}+"),
    _prefixed("atlassian-token", "ATATT3 ATCTT3", rb"[A-Za-z0-9_=-]{60,260}+"),
    _prefixed("vault-token", "hvs. hvb.", rb"[A-Za-z0-9_-]{60,200}+"),
    _prefixed("grafana-token", "glsa_ glc_", rb"[A-Za-z0-9_+/=-]{32,200}+"),
    _prefixed("linear-key", "lin_api_ lin_oauth_", rb"[A-Za-z0-9]{32,64}+"),
    _prefixed("notion-token", "ntn_ secret_", rb"[A-Za-z0-9]{40,50}" + _END),
    _prefixed("age-key", "AGE-SECRET-KEY-1", rb"[0-9A-Z]{58}"),
    _prefixed("databricks-token", "dapi", rb"[0-9a-f]{32}(?:-[0-9])?" + _END),
    _prefixed("supabase-token", "sbp_", rb"[0-9a-f]{40}" + _END),
    _prefixed("supabase-token", "sb_secret_", rb"[A-Za-z0-9_-]{20,60}+"),
    _prefixed("figma-token", "figd_ figu_", rb"[A-Za-z0-9_-]{36,80}+"),
    _prefixed("sentry-token", "sntryu_", rb"[0-9a-f]{64}" + _END),
    _prefixed("sentry-token", "sntrys_", rb"[A-Za-z0-9_+/=-]{40,400}+"),
    _prefixed("mailgun-key", "key-", rb"[0-9a-z]{32}" + _END, _near_mailgun),
    _prefixed("doppler-token",
        "dp.pt. dp.ct. dp.sa. dp.scim. dp.audit. dp.st. dp.st.dev. dp.st.stg. dp.st.prd. dp.st.prod.",
        rb"[A-Za-z0-9]{40,44}" + _END),
    Rule("private-key", Where.TEXT, (b"Private-Lines: ",), _PUTTY, _always),
    Rule("azure-signature", Where.TEXT, (b"sig=",),
        rb"(?<=[?&;])sig=(?P<s>[A-Za-z0-9+/%]{43,120}+={0,2})", _random),
    Rule("aws-secret-key", Where.WORD, (b"secret",),
        rb"(?i:secret)(?:[-_ ]?(?i:access))?(?:[-_ ]?(?i:key))?[^A-Za-z0-9/+\r\n]{1,8}"
        rb"(?:[A-Za-z0-9_]{1,24}+[^A-Za-z0-9/+\r\n]{1,8}){0,4}(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        _aws_secret),
    Rule("command-password", Where.TEXT, (b"-u", b"--user"),
        rb"(?<=[ \t])--?u(?:ser)?[ =\t]?[\"']?[^\s:\"'`]{1,64}+:(?P<s>[^\s\"'`]{3,128}+)",
        _command(b"curl", b"wget", b"http ")),
    Rule("command-password", Where.TEXT, (b"-p",),
        rb"(?<=[ \t])-p[\"']?(?P<s>[^\s\"'`]{3,128}+)", _command(b"mysql", b"mariadb", b"sshpass")),
    Rule("command-password", Where.TEXT, (b"sshpass",),
        rb"sshpass[ \t]{1,4}-p[ \t]{1,4}[\"']?(?P<s>[^\s\"'`]{3,128}+)", _in_address),
    Rule("netrc-password", Where.WORD, (b"login ",),
        rb"(?i:login)[ \t]{1,4}[^\s]{1,128}+\s{1,8}(?i:password)\s{1,4}[\"']?(?P<s>[^\s\"'`]{3,256}+)",
        _password),
    Rule("jwt", Where.TOKEN, (b"eyJ",),
        rb"(?P<s>eyJ[A-Za-z0-9_-]{10,2000}+\.eyJ[A-Za-z0-9_-]{6,8000}+\.[A-Za-z0-9_-]{20,1400}+)", _random),
    Rule("telegram-token", Where.TOKEN, (b"AA",),
        rb"(?<=[0-9]{8}:)(?P<s>AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])", _random),
    Rule("discord-token", Where.TOKEN, (b"M", b"N", b"O"),
        rb"(?P<s>[MNO][A-Za-z0-9_-]{23,27}+\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}+)", _random),
    Rule("url-password", Where.TEXT, (b"://",),
        rb"://[^\s/?#@:\"'<>\\]{0,128}+:(?P<s>[^\s/@\"'<>\\]{3,256}+)@", _in_address),
    Rule("bearer-token", Where.WORD, (b"bearer ", b"basic "),
        rb"(?i:bearer|basic) {1,3}(?P<s>[A-Za-z0-9._~+/=-]{16,2000})(?<!\.)", _secret),
    Rule("assigned-secret", Where.WORD,
        (b"pass", b"pw", b"secret", b"token", b"credential", b"key", *_FOREIGN), _ASSIGNED, _assigned),
)
# fmt: on
"""In order of trust: where two see one secret, the first names it."""

_SHORTEST = 16
"""Bytes of a token."""
# Every byte of a token becomes one letter, so that a run of them is found by a search for fixed bytes.
_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_SHADOW = bytes(ord("x") if byte in _BYTES else ord(" ") for byte in range(256))
_RUN = b"x" * _SHORTEST
_NO_DASH = re.compile(rb"[^-_]|\Z")


def _by_anchor(where: Where) -> Mapping[bytes, Sequence[int]]:
    ranks: dict[bytes, list[int]] = defaultdict(list)
    for rank, rule in enumerate(RULES):
        for anchor in rule.anchors if rule.where is where else ():
            ranks[anchor].append(rank)
    return ranks


_SEARCHED = _by_anchor(Where.TEXT), _by_anchor(Where.WORD)
_DOTTED = {anchor: ranks for anchor, ranks in _by_anchor(Where.TOKEN).items() if anchor.endswith(b".")}
_BEGINNINGS: dict[bytes, list[tuple[bytes, Sequence[int]]]] = defaultdict(list)
for _anchor, _ranks in _by_anchor(Where.TOKEN).items():
    _BEGINNINGS[_anchor[:1]].append((_anchor, _ranks))

NOTHING: frozenset[str] = frozenset()


class SecretFinding(NamedTuple):
    """One secret in a text; the secret itself is kept nowhere.

    Attributes:
        rule: its kind.
        fingerprint: 8 hex digits; `--allow` takes it.
        line: 1-based, where it begins.
    """

    rule: str
    fingerprint: str
    line: int


class Redacted(NamedTuple):
    """A text without secrets, and those that it had."""

    text: str
    findings: tuple[SecretFinding, ...]


class _Span(NamedTuple):
    start: int
    end: int
    rank: int


def fingerprint(secret: bytes) -> str:
    """Return the name of a secret; a random secret cannot be guessed from it."""
    return hashlib.sha256(b"forgekit secret\0" + secret).hexdigest()[:8]


def find(text: str, allowed: Collection[str] = NOTHING) -> tuple[SecretFinding, ...]:
    """Return the secrets in a text, in order.

    Args:
        text: a whole one: a secret that is cut in two by its ends is not seen.
        allowed: fingerprints of what is no finding.
    """
    data = text.encode("utf-8", "surrogatepass")
    return tuple(_findings(data, _spans(data, allowed)))


def redact(text: str, allowed: Collection[str] = NOTHING) -> Redacted:
    """Return a text with a mark in place of each secret, and the secrets by rule, line and fingerprint.

    Args:
        text: a whole one, such as an archive or one message; as of `find`.
        allowed: fingerprints of what is kept.
    """
    data = text.encode("utf-8", "surrogatepass")
    found: list[SecretFinding] = []
    # What a secret was glued to may be one by itself once the secret is gone. No rule sees a secret in marks
    # alone, so each round takes away bytes of the text itself, and there is a last one.
    while spans := _spans(data, allowed):
        found.extend(_findings(data, spans))
        data = _marked(data, spans)
    if not found:
        return Redacted(text=text, findings=())
    found.sort(key=lambda finding: finding.line)
    return Redacted(text=data.decode("utf-8", "surrogatepass"), findings=tuple(found))


def _marked(data: bytes, spans: Iterable[_Span]) -> bytes:
    parts, at = [], 0
    for span in spans:
        name, print_ = RULES[span.rank].name, fingerprint(data[span.start : span.end])
        mark = f"[redacted: {name} {print_}]".encode()
        parts += [data[at : span.start], mark]
        at = span.end
    return b"".join([*parts, data[at:]])


def _findings(data: bytes, spans: Iterable[_Span]) -> Iterator[SecretFinding]:
    line, at = 1, 0
    for span in spans:
        line += data.count(b"\n", at, span.start)
        at = span.start
        secret = data[span.start : span.end]
        yield SecretFinding(rule=RULES[span.rank].name, fingerprint=fingerprint(secret), line=line)


def _spans(data: bytes, allowed: Collection[str]) -> list[_Span]:
    """Return the spans of secrets, in order; those that overlap are one, named by the most trusted rule."""
    found = [
        span for span in _hits(data) if not allowed or fingerprint(data[span.start : span.end]) not in allowed
    ]
    found.sort(key=lambda span: (span.start, -span.end))
    joined: list[_Span] = []
    for span in found:
        if joined and span.start < joined[-1].end:
            last = joined.pop()
            joined.append(_Span(last.start, max(last.end, span.end), min(last.rank, span.rank)))
        else:
            joined.append(span)
    if allowed:
        joined = [span for span in joined if fingerprint(data[span.start : span.end]) not in allowed]
    return joined


def _hits(data: bytes) -> Iterator[_Span]:
    yield from _tokens(data)
    for anchors, searched in zip(_SEARCHED, (data, data.lower()), strict=True):
        for anchor, ranks in anchors.items():
            at = searched.find(anchor)
            while at >= 0:
                spans = list(_matches(ranks, data, at))
                yield from spans
                at = searched.find(anchor, max((span.end for span in spans), default=at + len(anchor)))


def _tokens(data: bytes) -> Iterator[_Span]:
    """Try the rules for tokens; dashes before one, and the end of an escaped line end, are none of it."""
    shadow = data.translate(_SHADOW)
    spent = end = 0  # what is glued to a secret begins where that ends
    at = shadow.find(_RUN)
    while at >= 0:
        if at >= end:
            end = shadow.find(b" ", at + _SHORTEST)
            end = len(data) if end < 0 else end
        before = data[max(at - 1, 0) : at]
        spans = list(_dotted(data, at, spent)) if before == b"." else []
        escape = 1 if before == b"\\" and data[at] in b"nrt" else 2 if before == b"%" else 0
        token = next(_NO_DASH.finditer(data, at + escape)).start()
        for anchor, ranks in _BEGINNINGS.get(data[token : token + 1], ()):
            if data.startswith(anchor, token):
                spans += _matches(ranks, data, token)
        yield from spans
        spent = max((span.end for span in spans), default=end)
        at = shadow.find(_RUN, spent)


def _dotted(data: bytes, dot: int, spent: int) -> Iterator[_Span]:
    """Try the rules whose prefix ends with the dot before a token."""
    for anchor, ranks in _DOTTED.items():
        start = dot - len(anchor)
        apart = start == spent or not data[max(start - 1, 0) : start].isalnum()
        if start >= 0 and apart and data.startswith(anchor, start):
            yield from _matches(ranks, data, start)


def _matches(ranks: Iterable[int], data: bytes, at: int) -> Iterator[_Span]:
    for rank in ranks:
        match = _shape(rank).match(data, at)
        if match is not None and RULES[rank].accept(match):
            start, end = match.span("s")
            while data[end : end + 1] and data[end] & 0xC0 == 0x80:  # cut at a limit, in a character
                end += 1
            yield _Span(start, end, rank)


@cache
def _shape(rank: int) -> re.Pattern[bytes]:
    """Compile a rule's shape when it is first needed."""
    return re.compile(RULES[rank].shape)
