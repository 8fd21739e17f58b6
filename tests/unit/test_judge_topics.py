"""Contradictions by topic, each with pairs of the same words that can both hold."""

from __future__ import annotations

import pytest

from forgekit.conflict.rules.port import Statement, Verdict
from forgekit.conflict.rules.rules import RuleJudge

EXCLUDE = {
    "lifetimes": (
        ("Share links expire after two days", "A share link is valid for 90 days"),
        ("API keys live for one year", "API keys are good for 30 days"),
        ("Invitations stay valid for a week", "An invitation expires within 24 hours"),
    ),
    "retention": (
        ("Chat logs are kept for 90 days", "Chat logs are deleted after 14 days"),
        ("Keep CCTV footage for three days", "CCTV footage is retained for a month"),
        ("Tax papers are stored for seven years", "Shred the tax papers after three years"),
    ),
    "deadlines": (
        ("Timesheets are due on the 25th", "Timesheets are due on the 28th"),
        ("Applications close on 15 June", "Applications close on 30 June"),
        ("Standup starts at 9:30", "Standup starts at 10:15"),
        ("Invoices are answered within five working days", "Invoices are answered within 24 hours"),
        ("Lights go out at ten", "Lights go out at half past eleven"),
    ),
    "who": (
        ("Contracts are signed by the managing director", "Contracts are signed by the legal department"),
        ("The site team approves overtime", "Overtime is approved by the head of operations"),
        ("The editor chooses the cover", "The cover is chosen by the author"),
        ("Only maintainers may publish packages", "Contributors may publish packages"),
        ("The staging database is open to everyone", "Access to the staging database is limited to admins"),
    ),
    "timing": (
        ("Thumbnails are made in a background job", "Thumbnails are made while the user waits"),
        ("Webhooks are delivered synchronously", "Webhooks are delivered through a queue"),
    ),
    "layout": (
        ("The services share one repository", "Each service lives in its own repository"),
        ("All teams work in a monorepo", "Every team has a repository of its own"),
    ),
    "permission": (
        ("Employees may use private phones for work", "Private phones are forbidden for work"),
        ("Comments are allowed on old posts", "Comments on old posts are disallowed"),
    ),
    "always and never": (
        ("Always rebase before merging", "Never rebase before merging"),
        ("Never retry a payment", "A payment is retried when the gateway times out"),
    ),
    "order": (
        ("Run migrations before the deploy", "Run migrations after the deploy"),
        ("Pay the plumber before the work", "Pay the plumber after the work is done"),
    ),
    "sourcing": (
        ("Build our own search engine", "Buy an off-the-shelf search engine"),
        ("The payroll system is built in-house", "The payroll system is a commercial product"),
    ),
    "spread": (
        ("Hiring is decentralised", "Hiring is run centrally"),
        ("Budgets are planned at head office", "Each department plans its budget"),
    ),
    "place": (
        ("The build servers are on-premises", "Move the build servers to the cloud"),
        ("Speech recognition runs on the device", "Speech recognition runs in the cloud"),
    ),
    "consent": (
        ("Tracking is opt-in", "Tracking is opt-out"),
        ("Location sharing is off by default", "Location sharing is on by default"),
    ),
    "rhythm": (
        ("Dependencies are updated weekly", "Dependencies are updated once a quarter"),
        ("The allotment is watered daily", "The allotment is watered every three days"),
    ),
    "visibility": (
        ("Post-mortems are published", "Post-mortems stay confidential"),
        ("The price list is public", "Prices are disclosed on request only"),
    ),
    "making": (
        ("API documentation is generated from the code", "API documentation is written by hand"),
        ("Release notes are auto-generated", "Release notes are written by hand"),
    ),
    "sharing": (
        ("All tenants use one shared database", "Each tenant has its own database"),
        ("The children share one tablet", "Each child has a tablet of its own"),
    ),
    "money": (
        ("Buy the car with a loan", "Pay for the car in cash"),
        ("Keep 70% of the fund in bonds", "The fund holds 30% in bonds"),
    ),
    "care": (
        ("Take the tablets with food", "Take the tablets on an empty stomach"),
        ("The cellar is kept at 12 degrees", "The cellar is kept at 16 degrees"),
        ("Meditate in the morning", "Meditate in the evening"),
    ),
    "writing": (
        ("Headings are in title case", "Headings are in sentence case"),
        ("References go into footnotes", "References go into endnotes"),
    ),
    "signs": (
        ("Never skip the security scan", "Skip the security scan on small changes"),
        ("Backups are left unencrypted", "Backups are encrypted"),
        ("Prefer polling over webhooks", "Use webhooks"),
    ),
}
HOLD = {
    "options": (
        ("The team chose option 1", "The team chose option 2 for the cellar"),
        ("User picked choice 3: keep the flag", "User picked choice 1: rename the field"),
        ("Severity one is answered within an hour", "Severity four is answered within a week"),
    ),
    "mentions": (
        ("Move the helpers from parsing to render", "Tests live beside the code (parsing package)"),
        (
            "Compare by digest instead of full byte comparison",
            "Use a fuzzy comparison (byte comparison of words)",
        ),
        ("Use the last sample instead of the first sample", "Each sample is stored with its unit"),
        ("Use unreleased drafts in the preview", "Released drafts are listed in the preview"),
        ("Support vendorless builds", "The vendor is named in the build report"),
    ),
    "asides": (
        ("Sort the rows. The old code did not sort columns", "Columns are sorted by name"),
        ("Rename the field. Clients could not read the label", "The label is read by clients"),
    ),
    "names": (
        ("Move the wiki to the Cloud Platform", "The Cloud Platform runs on local disks"),
        ("Disable message relay", "This adds a flag that enables the relay of blocks"),
        ("Enable alerts", "Disable sounds"),
    ),
    "lifetimes": (
        ("Access cards expire after a year", "Parking cards expire after a month"),
        ("Share links expire after two days", "Share links of the archive never leave the house"),
    ),
    "who": (
        ("The treasurer approves expenses", "The editor approves articles"),
        ("The lead approves orders up to 500 euros", "The board approves orders above 500 euros"),
        ("The data team reviews schemas", "The platform data team reviews schemas"),
        ("Only maintainers may publish packages", "Contributors may open issues"),
    ),
    "order": (
        ("Wash hands before meals", "Brush teeth after meals"),
        ("Before the launch the price is secret", "After the launch the price is public"),
    ),
    "conditions": (
        ("Photos are public", "Photos are public once faces are blurred"),
        ("Never retry a payment", "Never retry a payment unless the gateway asks for it"),
    ),
    "yes by two noes": (
        ("Customer data never leaves Switzerland", "Customer data stays in Switzerland"),
        ("Never skip the smoke test", "The smoke test runs on every deploy"),
        ("No adverbs in headings", "Headings carry no adverbs"),
    ),
    "dates": (
        ("Rent is due on the 1st", "Salaries are paid on the 25th"),
        ("Lunch is at noon", "School ends at one"),
        ("Standup starts at 9 am", "Standup starts at nine"),
        ("Set a limit of 2^63-1 units", "The limit is 30,000 units"),
    ),
    "third option": (
        ("RabbitMQ was rejected as broker", "Kafka is the broker"),
        ("We decided against buying a van", "Rent a van for the fair"),
    ),
    "other subject": (
        ("Reports are generated from the ledger", "Letters are written by hand"),
        ("The wiki is public", "The payroll is confidential"),
        ("The kitchen is heated with gas", "The garage is unheated"),
        ("Each team has its own budget", "All teams use one shared calendar"),
        ("The shop takes cash", "The shop finances a new roof with a loan"),
    ),
}


def verdict(a: str, b: str) -> Verdict:
    judged = RuleJudge().judge([(Statement(text=a), Statement(text=b))], [None])[0]
    turned = RuleJudge().judge([(Statement(text=b), Statement(text=a))], [None])[0]
    assert judged == turned
    return judged.verdict


@pytest.mark.parametrize(("a", "b"), [pair for pairs in EXCLUDE.values() for pair in pairs])
def test_both_cannot_be_followed(a: str, b: str) -> None:
    assert verdict(a, b) is Verdict.CONTRADICTION


@pytest.mark.parametrize(("a", "b"), [pair for pairs in HOLD.values() for pair in pairs])
def test_both_can_hold(a: str, b: str) -> None:
    assert verdict(a, b) is not Verdict.CONTRADICTION


@pytest.mark.parametrize(
    ("expected", "a", "b"),
    [
        (Verdict.DUPLICATE, "Sessions end after a quarter of an hour", "Sessions end after 15 minutes"),
        (Verdict.DUPLICATE, "Receipts are kept within the EU", "Keep receipts in Europe"),
        (Verdict.DUPLICATE, "Photos are stored on-device", "Photos are stored locally"),
        (Verdict.REFINEMENT, "No bikes in the hall", "No bikes in the hall, except folding bikes"),
        (Verdict.REFINEMENT, "The roof is cleaned", "The roof is cleaned in autumn with a soft brush"),
        (Verdict.RELATED, "Each note is one text file", "Each recipe is one text file with a photo"),
        (Verdict.RELATED, "The door is painted by option 1", "The door is painted by option 2"),
    ],
)
def test_what_holds_together_is_told_apart(expected: Verdict, a: str, b: str) -> None:
    assert verdict(a, b) is expected


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Use REST for all APIs", "Use GraphQL for client-facing APIs"),
        ("All APIs are REST", "Client-facing APIs are GraphQL"),
        ("Authenticate with JWT", "Authenticate with session cookies"),
        ("Use JWT for authentication", "Use session cookies for authentication"),
    ],
)
def test_a_rule_for_all_excludes_another_for_some(a: str, b: str) -> None:
    assert verdict(a, b) is Verdict.CONTRADICTION


def test_one_programme_in_two_projects_is_no_conflict() -> None:
    a, b = "The Math program starts with proofs", "The Math program of the evening school has six modules"
    assert verdict(a, b) in {Verdict.RELATED, Verdict.REFINEMENT}


def test_each_side_rejects_what_the_other_chooses() -> None:
    a = Statement(text="Offer the booking interface as HTML pages", alternatives=("Flutter",))
    b = Statement(
        text="Write the booking interface in Flutter instead of HTML pages", alternatives=("HTML pages",)
    )
    assert RuleJudge().judge([(a, b)], [None])[0].verdict is Verdict.CONTRADICTION
