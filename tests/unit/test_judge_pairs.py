"""Which verdict the judge by rules gives on pairs of every label, and what it says about them."""

from __future__ import annotations

from itertools import combinations

import pytest

from forgekit.conflict.rules.port import Judgement, Statement, Verdict
from forgekit.conflict.rules.rules import RuleJudge

CONTRADICTION = (
    ("All services log in JSON", "Services write plain text logs, not JSON"),
    ("Use MongoDB for the order history", "Order history lives in PostgreSQL"),
    ("Deploy on every merge to main", "Never deploy on merge; releases are cut by hand on Thursdays"),
    ("API keys expire after 90 days", "API keys never expire"),
    ("Session timeout is 15 minutes", "Sessions time out after 1 hour"),
    ("The public API speaks GraphQL", "We chose REST for the public API"),
    ("Indent with tabs", "Source files are indented with four spaces"),
    ("We keep one monorepo for all packages", "Each package has its own repository"),
    ("Passwords are hashed with bcrypt", "Hash passwords with Argon2id"),
    ("Events are processed synchronously in the request", "Event processing is asynchronous"),
    ("Invoices are immutable once issued", "Issued invoices can be edited in place"),
    ("Retry failed webhooks 3 times", "Failed webhooks are retried 10 times"),
    ("Do not use feature flags", "Every new feature ships behind a feature flag"),
    ("Two-factor login is mandatory for admins", "Two-factor authentication is optional for administrators"),
    ("We dropped support for Windows", "Windows is supported"),
    ("Users may delete their account themselves", "Account deletion is forbidden; support closes accounts"),
    ("Store uploads in S3", "Uploads are stored on the local disk"),
    ("Target availability is 99.9%", "Availability target: 99.5%"),
    ("Squash commits when merging", "Keep every commit: merge with a merge commit, never squash"),
    ("The scheduler runs on a single node", "The scheduler runs on five nodes"),
    ("Timestamps are stored in UTC", "Store timestamps in local time"),
    ("Code review is required before merging", "Merging needs no review"),
    ("Rate limit is 100 requests per minute", "Rate limit is 1000 requests per minute"),
    ("Rendering happens on the server", "Pages are rendered in the browser"),
    ("Write the worker in Rust", "The worker is written in Go"),
    ("Release every two weeks", "Releases happen monthly"),
    ("We use Jenkins for CI", "CI runs on GitHub Actions"),
    ("Caching is disabled for search results", "Search results are cached for five minutes"),
    ("The service listens on port 8080", "The service listens on port 9000"),
    ("Require Python 3.11", "The minimum version is Python 3.9"),
    ("Soft-delete customers", "Customer rows are hard deleted"),
    ("Backups are kept for 30 days", "Keep backups for one year"),
    ("Keep the legacy importer", "Remove the legacy importer in spring"),
    ("Use cookies rather than JWT for web sessions", "Web sessions use JWT"),
    ("We will not build a mobile app", "Build the mobile app in Flutter"),
    ("Database migrations run automatically at start", "Migrations of the database are applied manually"),
    ("Secrets are read from environment variables", "Never read secrets from environment variables"),
    ("The novel is told in first person", "Third-person narration throughout the novel"),
    ("The story is written in the past tense", "Write the story in present tense"),
    ("Chapters are at most 3000 words", "Chapters have at least 5000 words"),
    ("The detective dies at the end", "The detective survives the ending"),
    ("Attendance at seminars is compulsory", "Attending seminars is voluntary"),
    ("The exam counts for 60% of the grade", "The exam counts for 40% of the grade"),
    ("Late homework is accepted", "Late homework is not accepted"),
    ("Phones are banned in class", "Students may use phones in class"),
    ("Pay off the mortgage early", "Do not pay the mortgage off early; invest instead"),
    ("Put 20% of income into savings", "Save 10% of income"),
    ("No coffee after noon", "Coffee is fine at any time of day"),
    ("Train four times a week", "Train twice a week"),
    ("The club meets on Mondays", "The club meets on Thursdays"),
    ("Members vote by simple majority", "Decisions of members are unanimous"),
    ("Membership is free", "Members pay a yearly fee"),
    ("Use British spelling", "American spelling in all texts"),
    ("Meetings are recorded", "We do not record meetings"),
    ("Reviewers are anonymous", "Reviewers sign with their real names"),
    ("The team works fully remote", "Everyone works in the office three days a week"),
    ("Donations are published with the donor's name", "Donor names are never published"),
    ("Water the beds every day in summer", "Water the beds once a week in summer"),
    ("Identifiers are ULIDs", "Primary keys are auto-increment integers"),
    ("Errors are returned as exceptions", "Functions return error codes and never raise"),
    ("Support for Python 3.9 stays", "We require Python 3.12 or newer"),
    ("Breaking changes are allowed in minor versions", "Minor releases must stay backwards compatible"),
    ("Animations are on by default", "The interface has no animations"),
    ("The sidebar is always visible", "Hide the sidebar until the user opens it"),
    ("Users sign in with passwords", "Sign-in is passwordless, through passkeys"),
    ("IP addresses are logged for abuse handling", "We do not log IP addresses"),
    ("Use a batch size of 32", "Batch size is 256"),
    ("No deploys on Fridays", "Deploy any day, Fridays included"),
    ("Roll out to all users at once", "Roll out gradually, five percent of users first"),
    ("Message delivery is at least once", "Messages are delivered at most once"),
    ("The project is under the MIT licence", "License everything under GPL-3.0"),
    ("Files are kept in the database", "Store files in object storage"),
    ("Tests may hit the network", "Tests never touch the network"),
    ("Flaky tests are retried", "A flaky test is deleted, never retried"),
    ("Standup every morning at 9", "There are no daily standups"),
    ("Sprints last two weeks", "Work flows continuously, there are no sprints"),
    ("Meeting notes are public to the company", "Keep meeting notes private to the participants"),
    ("Sentences stay under 25 words", "Long sentences of 40 words and more are the style of this book"),
    ("The narrator never lies", "The narrator is unreliable"),
    ("Anna is the murderer", "Anna is innocent; the butler did it"),
    ("The story ends happily", "The ending is tragic"),
    ("Dialogue uses single quotation marks", "Use double quotes for dialogue"),
    ("Each lesson takes 45 minutes", "Lessons are 90 minutes long"),
    ("The course has no exam", "A written exam closes the course"),
    ("Never use credit cards", "Pay by credit card and clear it monthly"),
    ("The household budget is 3000 euros a month", "Spend at most 2500 euros per month"),
    ("Sell the car", "Keep the car for another five years"),
    ("Skip breakfast", "Eat a large breakfast every day"),
    ("Consciousness is reducible to computation", "Consciousness cannot be reduced to computation"),
    ("Space is discrete at the smallest scale", "Space is continuous at all scales"),
    ("Use commas as decimal separator", "Decimal point in all figures"),
    ("Comments in code are written in English", "Write code comments in German"),
    ("Compression is off for backups", "Backups are compressed with zstd"),
)

DUPLICATE = (
    ("Timeouts are 30 seconds", "Timeout of 30000 ms"),
    ("Use PostgreSQL as the database", "Postgres is our database"),
    ("Do not store plaintext passwords", "Plaintext passwords are never stored"),
    ("Releases happen every Tuesday", "We release on Tuesdays"),
    ("All timestamps are UTC", "Timestamps are in UTC"),
    ("Indent with tabs", "Use tabs for indentation"),
    ("Use REST for the public API", "The public API is REST"),
    ("Code review is required before merge", "Every merge requires code review"),
    ("We never log IP addresses", "IP addresses are not logged"),
    ("Sprints are two weeks long", "A sprint lasts 14 days"),
    ("No deploys on Fridays", "We do not deploy on Fridays"),
)

REFINEMENT = (
    ("Use PostgreSQL", "Use PostgreSQL 16 with logical replication for the reporting copy"),
    ("Deploys are automatic", "Deploys are automatic except during the December freeze"),
    (
        "All endpoints require authentication",
        "All endpoints require authentication; the health check alone is open",
    ),
    ("Backups run nightly", "Nightly backups run at 02:00 and are copied to a second region"),
    ("Homework is graded", "Homework is graded on a three-step scale when handed in on time"),
    ("Cache search results", "Cache search results for five minutes, keyed by user and query"),
    ("Retry failed payments", "Retry failed payments up to 3 times with exponential delay"),
    ("Deploy from main only", "Deploy from main only, after the smoke tests pass"),
    (
        "Use double quotes for dialogue",
        "Use double quotes for dialogue and single quotes for quotations inside it",
    ),
    ("Tests never touch the network", "Tests never touch the network except the nightly contract tests"),
    ("Personal data stays in the EU", "Personal data stays in the EU; backups are kept in Frankfurt"),
    ("Invest in index funds", "Invest in one world index fund, 200 euros a month"),
    ("Encrypt backups", "Backups are encrypted with age before upload"),
)

RELATED = (
    ("Production keeps logs for 90 days", "Staging keeps logs for 7 days"),
    ("Internal services use gRPC", "External clients use REST"),
    ("Unit tests mock the network", "Integration tests use the real network"),
    ("iOS app is written in Swift", "Android app is written in Kotlin"),
    ("The free plan allows 3 projects", "The enterprise plan allows 500 projects"),
    ("Invoices are sent by e-mail", "Invoices carry a sequential number"),
    ("Logs are kept for 30 days", "Backups are kept for 90 days"),
    ("The API timeout is 5 seconds", "The database timeout is 30 seconds"),
    ("Use PostgreSQL for orders", "Use Redis for caching orders"),
    ("Frontend tests run in Vitest", "Backend tests run in pytest"),
    ("Reject GraphQL for the public API", "The public API is versioned by URL"),
    ("Chapter 3 is told by Anna", "Chapter 7 is told by Boris"),
    ("Orders up to 500 euros are approved by the lead", "Orders above 500 euros are approved by the board"),
    ("Beginners train twice a week", "Advanced runners train five times a week"),
    ("Passwords have at least 12 characters", "Passwords are hashed with Argon2id"),
    ("Users can enable dark mode", "Users can disable notifications"),
    ("Broker for domain events", "Broker last operation polling"),
    ("The exam lasts 90 minutes", "The exam has 40 questions"),
    ("Admins sign in with hardware keys", "Customers sign in with passwords"),
    ("The mobile app caches lists for 5 minutes", "The web app caches lists for 1 hour"),
    (
        "Reject Kafka for the event bus",
        "Kafka consumer groups are named after the service in the partner system",
    ),
    ("Pay rent on the first", "Pay insurance quarterly"),
    ("Sow carrots in April", "Sow spinach in September"),
    ("Version 1 used XML", "Version 2 uses JSON"),
    ("Use Redis for the session cache", "Use PostgreSQL for session history"),
    ("New features need a design document", "Bug fixes need no design document"),
    ("In Germany prices include VAT", "In the US prices exclude sales tax"),
    ("Alpha testers get free access", "Paying customers get support within a day"),
    ("The index is rebuilt nightly", "The index has three shards"),
    ("Before the release the API may change", "After the release the API is frozen"),
    ("Minors need consent of a parent", "Adults consent for themselves"),
    ("Disable telemetry in tests", "Enable telemetry in production"),
    ("Remove the old importer", "Keep the old exporter"),
    ("Optional fields are omitted", "Required fields come first"),
    ("Support read-only mounts", "Support mutable state in plugins"),
    ("Volume snapshot support", "Volume cloning support"),
    ("Add a boolean type", "Add an enumeration type"),
    ("Async generators", "Synchronous iteration over channels"),
)

UNRELATED = (
    ("Use tabs for indentation", "The club dinner is in May"),
    ("Retry three times", "Three characters carry the plot"),
    ("The narrator is unreliable", "Rotate the signing keys yearly"),
    ("Never deploy on Fridays", "Never mix narrators within a chapter"),
    ("Cap the budget at 500 euros", "Files are at most 500 lines"),
    ("The exam has no open questions", "No plastic on the festival site"),
    ("Use two spaces in YAML", "Keep two spare keys at the neighbour"),
)

COMPATIBLE = (
    ("The cover is blue", "The book has 300 pages"),
    ("Signed transactions", "Unsigned transactions for testing tools"),
    ("Node discovery protocol v4", "Node discovery protocol v5 wire format"),
    ("Never commit generated code", "Commit messages name the ticket"),
    ("Keep tomatoes under glass until June", "Keep the public API stable"),
    ("Dark theme by default", "The default theme is dark"),
    ("Kafka was rejected", "We decided against Kafka"),
    ("Tests must not use the network", "Tests never touch the network"),
    ("Members pay 30 euros a year", "The yearly membership fee is 30 euros"),
    ("Sprints last two weeks", "Sprints last two weeks and start on Wednesdays"),
    ("Public endpoints are rate limited", "The search endpoint allows 20 requests per minute"),
    ("Use double quotes for dialogue", "Chapters open with a date line"),
    ("Deploy from main only", "Deploys are announced in the team chat"),
    ("Anna is the murderer", "Anna is 34 years old"),
    ("Lessons are 45 minutes long", "Breaks are 15 minutes long"),
    ("The parser is recursive descent", "The lexer is generated"),
    ("Read requests use the replica", "Write requests go to the primary"),
    ("Do not store card numbers", "Card numbers are entered on the provider's page"),
    ("Server logs are JSON", "Client logs are plain text"),
    ("Retry reads 5 times", "Never retry payments"),
    ("Static inline functions", "Dynamic module attributes"),
    ("Never raise from a destructor", "Raise the fee by five euros"),
    ("Ship the book in spring", "The Spring backend exposes metrics"),
)
"""Pairs that hold together and whose verdict is a matter of taste."""

BEYOND = (
    ("Error reports are sent to Sentry", "No error reports leave the machine"),
    ("The CLI prompts before deleting", "Delete commands run without confirmation"),
    ("All traffic between services is encrypted with mTLS", "Internal traffic stays plain HTTP"),
    ("User data may leave the EU", "Personal data is stored in the EU only"),
    ("Train the model from scratch", "Fine-tune a pretrained model"),
    (
        "Evaluate on a held-out test set that is never used for tuning",
        "Hyperparameters are tuned on the test set",
    ),
    ("Deploy to production only from the main branch", "Production is deployed from release branches"),
    ("Run everything on one virtual machine", "The platform runs on a Kubernetes cluster"),
    ("Consumers process messages in order", "Message ordering is not guaranteed"),
    ("Contributors sign a CLA", "No contributor agreement is asked for"),
    ("Dates in the interface follow ISO 8601", "Show dates as day.month.year"),
    ("Aim for 100% test coverage", "We set no coverage target"),
)
"""Contradictions in free words that no rule sees: the limits of the judge, so that a gain shows."""

EXPECTED = [
    *((Verdict.CONTRADICTION, a, b) for a, b in CONTRADICTION),
    *((Verdict.DUPLICATE, a, b) for a, b in DUPLICATE),
    *((Verdict.REFINEMENT, a, b) for a, b in REFINEMENT),
    *((Verdict.RELATED, a, b) for a, b in RELATED),
    *((Verdict.UNRELATED, a, b) for a, b in UNRELATED),
]


def judge(a: str | Statement, b: str | Statement, similarity: float | None = None) -> Judgement:
    pair = tuple(Statement(text=side) if isinstance(side, str) else side for side in (a, b))
    return RuleJudge().judge([(pair[0], pair[1])], [similarity])[0]


@pytest.mark.parametrize(("verdict", "a", "b"), EXPECTED)
def test_verdict(verdict: Verdict, a: str, b: str) -> None:
    assert judge(a, b).verdict is verdict


@pytest.mark.parametrize(("a", "b"), COMPATIBLE)
def test_no_contradiction_is_seen_where_both_can_hold(a: str, b: str) -> None:
    assert judge(a, b).verdict is not Verdict.CONTRADICTION


@pytest.mark.parametrize(("a", "b"), BEYOND)
def test_free_wording_is_beyond_rules(a: str, b: str) -> None:
    assert judge(a, b).verdict is not Verdict.CONTRADICTION


@pytest.mark.parametrize(
    ("a", "b", "reasons"),
    [
        (
            "Session timeout is 15 minutes",
            "Sessions time out after 1 hour",
            (
                "different values: 1 hour against 15 minutes",
                "both speak of: session, time out",
                "but a heading decides nothing",
            ),
        ),
        (
            "Use cookies rather than JWT for web sessions",
            "Web sessions use JWT",
            ("one says no to what the other says yes to: jwt", "both speak of: jwt, sessions, use, web"),
        ),
        (
            "Meetings are recorded",
            "We do not record meetings",
            (
                "one says no to what the other says yes to: meetings, record",
                "both speak of: meetings, record",
            ),
        ),
        (
            "Write the worker in Rust",
            "The worker is written in Go",
            ("exclude each other (language): in go against rust", "both speak of: worker, write"),
        ),
        (
            "Deploys are automatic",
            "Deploys are manual",
            ("exclude each other (working): automatic against manual", "both speak of: deploys"),
        ),
        (
            "Send alerts to PagerDuty",
            "Send alerts to Opsgenie",
            ("one sentence, another name: opsgenie against pagerduty", "both speak of: alerts, send"),
        ),
        (
            "Production keeps logs for 90 days",
            "Staging keeps logs for 7 days",
            (
                "different values: 7 days against 90 days",
                "both speak of: keeps, logs",
                "but hold in scopes that exclude each other",
                "but speak of different things",
            ),
        ),
        (
            "Logs are kept for 30 days",
            "Backups are kept for 90 days",
            (
                "different values: 30 days against 90 days",
                "both speak of: kept for",
                "but speak of different things",
            ),
        ),
        (
            "Signed invoices are immutable",
            "Editable invoices",
            (
                "exclude each other (mutability): editable against immutable",
                "both speak of: invoices",
                "but a heading decides nothing",
            ),
        ),
        (
            "Deploys are automatic",
            "Deploys are manual when a migration is part of them",
            (
                "exclude each other (working): automatic against manual",
                "both speak of: deploys",
                "but one holds under a condition",
            ),
        ),
        (
            "Rotate keys yearly",
            "Keys live in the vault; rotate them every month",
            ("different values: every month against yearly", "both speak of: rotate"),
        ),
    ],
)
def test_reasons_in_words(a: str, b: str, reasons: tuple[str, ...]) -> None:
    assert judge(a, b).reasons == reasons
    assert judge(b, a).reasons == reasons


def test_an_alternative_that_the_other_chooses() -> None:
    rest = Statement(text="Use GraphQL for the partner interface", alternatives=("REST (too chatty)", "SOAP"))
    found = judge(rest, "The partner interface is REST")
    assert found.verdict is Verdict.CONTRADICTION
    assert found.reasons[0] == "rejects what the other chooses: rest"


def test_an_unknown_alternative_is_found_by_its_words() -> None:
    chosen = Statement(text="Plan routes with Dijkstra", alternatives=("contraction hierarchies",))
    other = "Plan routes with contraction hierarchies"
    assert judge(chosen, other).reasons[0] == "rejects what the other chooses: contraction hierarchies"


def test_an_alternative_both_reject_opposes_nothing() -> None:
    a = Statement(text="Use GraphQL for the partner interface", alternatives=("SOAP",))
    b = Statement(text="The partner interface is GraphQL", alternatives=("SOAP",))
    assert judge(a, b).verdict is Verdict.DUPLICATE


def test_a_rationale_that_rejects_what_the_other_chooses() -> None:
    plain = judge("The partner interface stays small", "Use SOAP for the partner interface")
    why = Statement(text="The partner interface stays small", rationale="We decided against SOAP in June.")
    told = judge(why, "Use SOAP for the partner interface")
    assert plain.score < told.score
    assert told.reasons[0] == "rejects what the other chooses: soap"


def test_scope_words_beside_the_text_count() -> None:
    a = Statement(text="Logs are kept for 30 days", scope=("production",))
    b = Statement(text="Logs are kept for 90 days", scope=("staging",))
    assert judge("Logs are kept for 30 days", "Logs are kept for 90 days").verdict is Verdict.CONTRADICTION
    assert judge(a, b).verdict is Verdict.RELATED


@pytest.mark.parametrize("joined", ["and", "&", "or"])
def test_a_verb_beside_one_that_rejects_is_not_rejected(joined: str) -> None:
    told = judge(f"Deprecate {joined} remove the RunOnce mode", "Deprecate the proxy mode")
    assert told.verdict is not Verdict.CONTRADICTION
    assert not any("not remove" in reason for reason in told.reasons)


def test_a_heading_decides_nothing() -> None:
    assert judge("Synchronous replication of the ledger", "Asynchronous ledger replication").score < 0.5
    assert judge("Replicate the ledger synchronously", "Replicate the ledger asynchronously").score > 0.5


def test_a_heading_with_a_value_does() -> None:
    assert judge("Upload limit: 20 MB", "Upload limit: 50 MB").verdict is Verdict.CONTRADICTION


def test_a_record_number_is_no_quantity() -> None:
    assert (
        judge("12. Use PostgreSQL for orders", "ADR-31: Use PostgreSQL for orders").verdict
        is Verdict.DUPLICATE
    )


def test_similarity_stands_in_for_shared_words_but_never_decides() -> None:
    a, b = "Restore rows by hand", "Automate recovery"
    assert judge(a, b).score < judge(a, b, 0.7).score
    assert judge("The cover is blue", "Jackets are blue", 0.9).verdict is Verdict.DUPLICATE
    assert judge("Use tabs", "Water the roses", 0.5).verdict is Verdict.RELATED


@pytest.mark.parametrize(
    "text", ["", " ", "...", "-", "é", "\u202e", "1", "v", "not", "no no no", ":", "9" * 3000, "1.2.3.4"]
)
def test_any_text_is_judged(text: str) -> None:
    assert 0 <= judge(text, "Never use 3 of these: v2, 1.5 kB").score < 0.5
    assert judge(text, text).verdict is not Verdict.CONTRADICTION


def test_one_judgement_a_pair_in_order() -> None:
    a, b = Statement(text="Deploys are automatic"), Statement(text="Deploys are manual")
    found = RuleJudge().judge([(a, b), (a, a)], [None, None])
    assert [judgement.verdict for judgement in found] == [Verdict.CONTRADICTION, Verdict.DUPLICATE]
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        RuleJudge().judge([(a, b)], [])


def test_few_of_many_random_pairs_are_flagged() -> None:
    held = sorted({side for rows in (RELATED, UNRELATED, REFINEMENT) for pair in rows for side in pair})
    pairs = [(Statement(text=a), Statement(text=b)) for a, b in combinations(held, 2)]
    found = RuleJudge().judge(pairs, [None] * len(pairs))
    flagged = [pair for pair, j in zip(pairs, found, strict=True) if j.verdict is Verdict.CONTRADICTION]
    assert len(pairs) > 5_000
    assert 1_000 * len(flagged) <= 2 * len(pairs), flagged


def test_headings_that_answer_one_question_decide_it() -> None:
    assert judge("Passwords for login", "Passkeys for login").verdict is Verdict.CONTRADICTION
    assert judge("Passwords for login", "Passkeys for tablets").verdict is not Verdict.CONTRADICTION
