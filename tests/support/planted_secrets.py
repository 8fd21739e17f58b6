"""Invented secrets of 32 kinds, and what only looks like one; drawn from seeded random numbers."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import string
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

ALNUM = string.ascii_letters + string.digits
_URL = ALNUM + "-_"
_BASE64 = ALNUM + "+/"
_HEX = "0123456789abcdef"


@dataclass(frozen=True, kw_only=True)
class Planted:
    """One secret.

    Attributes:
        kind: one of `KINDS`.
        secret: what must be found nowhere.
        text: the secret in the words around it.
    """

    kind: str
    secret: str
    text: str


def seeded(name: str) -> Random:
    return Random(name)  # noqa: S311 - examples, no secrets


def drawn(random: Random, alphabet: str, count: int) -> str:
    return "".join(random.choice(alphabet) for _ in range(count))


def _bytes(random: Random, count: int) -> bytes:
    return random.randbytes(count)


def _encoded(random: Random, count: int) -> str:
    return base64.b64encode(_bytes(random, count)).decode()


def _segment(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _jwt(random: Random) -> str:
    claims = {"sub": drawn(random, string.digits, 10), "iat": random.randrange(10**9, 2 * 10**9)}
    return f"{_segment({'alg': 'HS256', 'typ': 'JWT'})}.{_segment(claims)}.{drawn(random, _URL, 43)}"


def _pem(random: Random, name: str, size: int) -> str:
    body = _encoded(random, size)
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    return "\n".join((f"-----BEGIN {name}-----", *lines, f"-----END {name}-----"))


def _password(random: Random) -> str:
    letters = drawn(random, string.ascii_lowercase, 5) + drawn(random, string.ascii_uppercase, 3)
    mixed = list(letters + drawn(random, string.digits, 3) + random.choice("!#%^&"))
    random.shuffle(mixed)
    return random.choice(string.ascii_letters) + "".join(mixed)


def _discord(random: Random) -> str:
    user = base64.b64encode(drawn(random, "123456789", 18).encode()).decode()
    return f"{user}.{drawn(random, _URL, 6)}.{drawn(random, _URL, 27)}"


def _slack_hook(random: Random) -> str:
    upper = string.ascii_uppercase + string.digits
    return f"T{drawn(random, upper, 8)}/B{drawn(random, upper, 8)}/{drawn(random, ALNUM, 24)}"


def _github(random: Random) -> str:
    if random.random() < 0.5:
        return random.choice(["ghp_", "gho_", "ghs_"]) + drawn(random, ALNUM, 36)
    return f"github_pat_{drawn(random, ALNUM, 22)}_{drawn(random, ALNUM, 59)}"


def _putty(random: Random) -> str:
    body = _encoded(random, 420)
    return "\n".join(body[at : at + 64] for at in range(0, len(body), 64))


def _signature(random: Random) -> str:
    return _encoded(random, 32).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")


def _openai(random: Random) -> str:
    return f"sk-proj-{drawn(random, _URL, 74)}T3BlbkFJ{drawn(random, _URL, 74)}"


Draw = Callable[[Random], str]
KINDS: dict[str, tuple[Draw, tuple[str, ...]]] = {
    "aws": (
        lambda r: "AKIA" + drawn(r, string.ascii_uppercase + "234567", 16),
        ("AWS_ACCESS_KEY_ID={}", "the key {} was in the log", '"accessKeyId": "{}"'),
    ),
    "github": (
        _github,
        (
            "export GITHUB_TOKEN={}",
            "`{}`",
            "Log in with {} and go on.",
            "git clone https://x:{}@github.com/a/b",
        ),
    ),
    "gitlab": (lambda r: "glpat-" + drawn(r, _URL, 20), ("PRIVATE-TOKEN: {}", "use {} for the registry")),
    "slack": (
        lambda r: f"xoxb-{drawn(r, string.digits, 12)}-{drawn(r, string.digits, 12)}-{drawn(r, ALNUM, 24)}",
        ("SLACK_BOT_TOKEN={}", "bot: '{}'"),
    ),
    "slack-hook": (_slack_hook, ("curl -X POST https://hooks.slack.com/services/{}",)),
    "stripe": (
        lambda r: r.choice(["sk_live_", "rk_live_"]) + drawn(r, ALNUM, 24),
        ("STRIPE_KEY={}", "we charged with {} by mistake"),
    ),
    "openai": (_openai, ("OPENAI_API_KEY={}", "openai.api_key = '{}'", "paste {} here")),
    "anthropic": (
        lambda r: f"sk-ant-api03-{drawn(r, _URL, 93)}AA",
        ("ANTHROPIC_API_KEY={}", "x-api-key: {}"),
    ),
    "google": (lambda r: "AIza" + drawn(r, _URL, 35), ("https://maps.example.org/js?key={}", "key: {}")),
    "jwt": (_jwt, ("Authorization: Bearer {}", "cookie: session={}; path=/", '{{"jwt": "{}"}}')),
    "private-key": (
        lambda r: _pem(r, r.choice(["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY"]), 600),
        ("The server's key:\n\n{}\n\nRotate it.", "```\n{}\n```"),
    ),
    "ssh-key": (lambda r: _pem(r, "OPENSSH PRIVATE KEY", 300), ("cat ~/.ssh/id_ed25519\n{}\n",)),
    "npm-pypi": (
        lambda r: r.choice(["npm_" + drawn(r, ALNUM, 36), "pypi-AgEIcHlwaS5vcmc" + drawn(r, _URL, 120)]),
        ("//registry.npmjs.org/:_authToken={}", "twine upload -p {}"),
    ),
    "sendgrid": (
        lambda r: f"SG.{drawn(r, _URL, 22)}.{drawn(r, _URL, 43)}",
        ("SENDGRID_API_KEY={}", "mail goes out by {}"),
    ),
    "twilio": (lambda r: "SK" + drawn(r, _HEX, 32), ("TWILIO_API_KEY={}", "twilio sid {}")),
    "azure": (
        lambda r: _encoded(r, 64),
        ("DefaultEndpointsProtocol=https;AccountName=store;AccountKey={};EndpointSuffix=core.windows.net",),
    ),
    "chat-bot": (
        lambda r: r.choice([_discord(r), "AA" + drawn(r, _URL, 33)]),
        ("DISCORD={}", "bot 123456789:{}"),
    ),
    "url-password": (
        _password,
        ("postgres://app:{}@db.internal:5432/app", "https://ci:{}@git.internal/repo.git"),
    ),
    "assignment": (
        _password,
        ("password = {}", 'DB_PASSWORD="{}"', "**Password:** {}", "the password is {}", "passwd: '{}'"),
    ),
    "azure-sas": (
        _signature,
        (
            "https://store.blob.core.windows.net/c/a.txt?sv=2022-11-02&sr=b&se=2026-01-01T00%3A00Z&sp=r&sig={}",
        ),
    ),
    "databricks": (lambda r: "dapi" + drawn(r, _HEX, 32), ("DATABRICKS_TOKEN={}", "log in with {} there")),
    "putty": (
        _putty,
        ("PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nPrivate-Lines: 9\n{}\nPrivate-MAC: 0123\n",),
    ),
    "supabase": (lambda r: "sbp_" + drawn(r, _HEX, 40), ("supabase login --token {}", "`{}`")),
    "figma": (lambda r: "figd_" + drawn(r, _URL, 43), ("X-Figma-Token: {}", "figma: {}")),
    "sentry": (lambda r: "sntryu_" + drawn(r, _HEX, 64), ("SENTRY={}", "sentry-cli login with {}")),
    "mailgun": (
        lambda r: "key-" + drawn(r, _HEX, 32),
        ("mailgun: {}", "curl -s --user 'api:{}' https://a.example"),
    ),
    "doppler": (
        lambda r: r.choice(["dp.pt.", "dp.st.prd."]) + drawn(r, ALNUM, 43),
        ("DOPPLER={}", "doppler run --token {}"),
    ),
    "command": (
        _password,
        (
            "curl -u admin:{} https://api.example.org/v1",
            "curl -sS --user 'ci:{}' https://api.example.org/v1",
            "mysql -h db -u root -p{} shop",
            "mysqldump --all-databases -p'{}' > all.sql",
            "sshpass -p {} ssh root@10.0.0.1",
            "sshpass -p '{}' scp a b:",
        ),
    ),
    "netrc": (
        _password,
        ("machine git.example.org login ada password {}", "machine a.example\n  login ci\n  password {}\n"),
    ),
    "aws-secret": (
        lambda r: drawn(r, ALNUM, 40),
        (
            "The AWS secret access key is {} (rotate it).",
            "secret access key for prod: {}",
            "aws secret key `{}`",
            "| Secret key | {} |",
        ),
    ),
    "hex-token": (
        lambda r: drawn(r, _HEX, 40),
        ("GITHUB_TOKEN={}", "GH_TOKEN: {}", "export GITLAB_TOKEN='{}'"),
    ),
    "in-context": (
        lambda r: drawn(r, _BASE64, 40),
        (
            "AWS_SECRET_ACCESS_KEY={}",
            '"secretAccessKey": "{}"',
            "curl -H 'Authorization: Bearer {}'",
            "api_key: {}",
        ),
    ),
}
LOOSE = frozenset({"url-password", "assignment", "in-context", "command", "netrc", "aws-secret", "hex-token"})
"""Kinds without a shape of their own: only the words around them tell."""


def planted(random: Random, count: int) -> list[Planted]:
    """Draw secrets, each kind in turn."""
    out = []
    for number in range(count):
        kind = list(KINDS)[number % len(KINDS)]
        draw, texts = KINDS[kind]
        secret = draw(random)
        template = random.choice(texts)
        if kind == "chat-bot":
            template = texts[secret.startswith("AA")]
        out.append(Planted(kind=kind, secret=secret, text=template.format(secret)))
    return out


_WORDS = re.findall(
    r"[a-z]+",
    "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et "
    "the password is rotated every quarter the token budget was raised we keep each secret in the vault",
)
_STATIC = (
    "AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "OPENAI_API_KEY=sk-XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
    "export ANTHROPIC_API_KEY=sk-ant-...",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "GITHUB_TOKEN=${{ secrets.GITHUB_TOKEN }}",
    "password = os.environ['DB_PASSWORD']",
    "password: process.env.DB_PASSWORD_V2_PROD",
    "postgres://user:password@localhost:5432/db",
    "postgresql://postgres:postgres@127.0.0.1/test",
    "https://user:${PASSWORD}@example.org/",
    "mongodb://<user>:<password>@cluster.example.org",
    "password: str | None = None",
    "token: Annotated[str, Depends(oauth2_scheme)]",
    "const token = await getToken2fa({ scope: 'a' })",
    "secret_key = get_secret('prod/v2/db')",
    'api_key = "your-api-key-1234-goes-here"',
    "Authorization: Bearer <token>",
    "Authorization: Bearer $ACCESS_TOKEN_2",
    "Password hashing: Argon2id with 64 MiB",
    "password: Argon2id",
    "Token: RS256-signed, 15 minutes",
    "tokens: 128000",
    "max_tokens=4096",
    "token_count: 18234567",
    "the secret is SHA-256-derived",
    "class='sk-container-loading-spinner-wrapper'",
    "sk-learn-contrib-extension-2.0.1-beta",
    "-----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY-----",
    "look for -----BEGIN RSA PRIVATE KEY----- in the files",
    "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKj34Gkx\n-----END PUBLIC KEY-----",
    "eyJhbGciOiJIUzI1NiJ9.e30",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEXmP3lKTcLhRRYcEXAMPLEmXxx ada@example.org",
    "[redacted: github-token 3f9a1c2b]",
    "password: [redacted: assigned-secret 3f9a1c2b]",
    "password: ********",
    "PASSWORD=<your password here>",
    "at 10:45:AA the run stopped",
    "integrity sha512-" + "v2Ly" * 21 + "==",
    "docker run -u 1000:1000 --rm image",
    "curl -u user:password https://example.org",
    "curl -u $USER:$PASSWORD https://example.org",
    "curl -u ada https://example.org:8443/a",
    "mysql -u root -p shop",
    "mysql -h db -ppassword shop",
    "mkdir -p src/Main2/v3",
    "ssh -p2222 host; scp -P 2222 a host:",
    "mysql --port 3306 -p",
    "sshpass -p password ssh host",
    "sshpass -p $SSH_PW ssh host",
    "machine example.org login ada password changeme",
    "a login form, password field and a button",
    "login with password: see the vault",
    "https://example.org/a?sig=none&v=2",
    "sig=abc in the query",
    "dapi0123 and dapimmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm",
    "key-value pairs and key-0123456789abcdef0123456789abcdef",
    "dp.st.prd is a config of doppler",
    "the secret lies in commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "secret key rotation, see aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "figd_ sbp_ sntryu_ are prefixes",
    "Private-Lines: 14 are left out here",
    "the token 3f786850e387550fdab836ed7e6dc881de23001b names a commit",
)


def _benign_drawn(random: Random) -> str:
    choice = random.randrange(16)
    number = uuid.UUID(int=random.getrandbits(128), version=4)
    sha1 = hashlib.sha1(_bytes(random, 8), usedforsecurity=False).hexdigest()
    sha256 = hashlib.sha256(_bytes(random, 8)).hexdigest()
    words = " ".join(random.choice(_WORDS) for _ in range(random.randrange(4, 30)))
    image = f"![chart](data:image/png;base64,iVBORw0KGgo{_encoded(random, random.randrange(100, 3000))})"
    line = random.choice(
        [
            f"commit {sha1}",
            f"index {sha1[:7]}..{sha1[7:14]} 100644",
            f"content_sha256: {sha256}",
            f"decision_id: {number}",
            f"token_id: {number}",
            f"session_token: {number}",
            f"token: {sha1}",
        ]
    )
    version = ".".join(str(random.randrange(40)) for _ in range(3))
    return [
        sha1,
        sha256,
        line,
        line,
        f"dec_{sha1[:12]} thr_{sha1[12:24]}",
        str(number),
        image,
        words,
        words,
        f"pip install package=={version} --hash=sha256:{sha256}",
        f"{random.choice(_WORDS)}_id = {random.choice(_WORDS)}({random.randrange(10**6)})",
        f"https://host.example/{random.choice(_WORDS)}/{number}?v={version}#L{random.randrange(999)}",
        f"2026-0{random.randrange(1, 9)}-1{random.randrange(9)}T10:{random.randrange(10, 59)}:00Z",
        f'"integrity": "sha512-{_encoded(random, 64)}"',
        f"msg_{drawn(random, ALNUM, 24)} toolu_{drawn(random, ALNUM, 24)} req_{drawn(random, ALNUM, 24)}",
        f"user@{random.choice(_WORDS)}.example wrote in v{version}-rc{random.randrange(9)}",
    ][choice]


def benign(random: Random, count: int) -> list[str]:
    """Draw texts that hold no secret; the written ones come first."""
    return [*_STATIC, *(_benign_drawn(random) for _ in range(count - len(_STATIC)))][:count]
