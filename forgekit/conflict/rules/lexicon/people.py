"""Words for people and bodies, and for what one of them alone usually does."""

from __future__ import annotations

from forgekit.conflict.rules.grammar import word_set

PEOPLE = word_set(
    """
    accountant admin administrator agency analyst architect artist assembly assistant association auditor
    author board boss buyer captain caretaker ceo cfo chair chairperson chef client clerk coach committee
    community company consultant contractor contributor cook council counsel cto customer dba department
    designer developer director doctor editor employee engineer everyone expert family father finance
    founder gardener general group guest head hr intern juniors junior jury landlord lawyer lead leader
    leadership legal maintainer manager member minister mother neighbour nurse office officer operator
    ops organiser owner parent participant partner party pharmacist physician physio plumber president
    principal procurement producer professor programmer publisher qa researcher reviewer scientist
    secretary security senate senior seniors shareholder specialist sponsor squad staff steward student
    supervisor support surgeon teacher team tenant therapist translator treasurer trustee tutor
    typesetter user vendor vet volunteer writer
    """
)
"""Words that name who does something; stemmed by the reader."""
UNITS = word_set(
    """
    branch country department division group office plant region school section shop site squad store team
    unit
    """
)
"""Parts of an organisation: what each of them does is not done centrally."""
RULING = word_set(
    """
    appoint approve assign authorise chair choose decide elect grant maintain manage nominate own review
    set sign triage veto write
    """
)
"""Verbs that one party alone does to one thing as a rule."""
EXCLUSIVE = (
    "limited to",
    "restricted to",
    "reserved for",
    "open only to",
    "nobody but",
    "no one but",
    "nobody except",
    "no one except",
)
"""What stands before those who alone may do something."""
