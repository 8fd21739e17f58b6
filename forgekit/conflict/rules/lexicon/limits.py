"""Words that limit where a statement holds: a slot a line, whose words exclude each other."""

from __future__ import annotations

SCOPES = """
environment: production | staging | dev | ci | sandbox
audience: internal, internally, intranet, employee, staff | external, client-facing, customer-facing,
    public-facing, partner, third parties
device: mobile, phone, ios, android, tablet | desktop, laptop | browser, web
mobile system: ios | android
system: windows | linux | mac, macos
caller: machine client, machine, service account, machines | browser, human, browsers, people
region: eu, europe, european | us, united states, american | asia, apac, china
plan: free tier, free plan, trial | paid plan, pro plan, enterprise plan, enterprise
side: frontend | backend
stage: mvp, prototype, pilot, alpha, beta | general availability, ga, after launch, post-launch
age: beginner, beginners, novice | advanced, expert, experts
part of week: weekday, weekdays | weekend, weekends
season: summer | winter
kind of test: unit tests, unit test | integration tests, integration test | end-to-end tests, e2e, end to
    end
reading or writing: reads, read path | writes, write path
hours: business hours, office hours | out of hours, overnight
text kind: tutorial, tutorials | how-to, how to, howto | reference pages | blog posts
"""
