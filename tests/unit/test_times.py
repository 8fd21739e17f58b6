"""Times: one text form out, several in, none guessed."""

from __future__ import annotations

import pytest

from forgekit.times import (
    LAST,
    UNKNOWN,
    Instant,
    format_date,
    format_instant,
    month,
    parse_day,
    parse_instant,
)

MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2023-11-14T22:13:20Z", MS),
        ("2023-11-14 22:13:20", MS),
        ("2023-11-14T22:13:20 UTC", MS),
        ("2023-11-15T00:13:20+02:00", MS),
        ("2023-11-14T17:13:20-0500", MS),
        ("2023-11-14t22:13:20z", MS),
        ("2023-11-14T22:13:20.5Z", MS + 500),
        ("2023-11-14T22:13:20.123999Z", MS + 123),
        ("2023-11-14T22:13:20,001Z", MS + 1),
        ("2023-11-14T22:13Z", MS - 20_000),
        (" 2023-11-14 ", MS - 80_000_000),
        ("1970-01-01", 0),
        ("9999-12-31T23:59:59.999Z", LAST),
        ("2024-02-29", 1_709_164_800_000),
    ],
)
def test_what_is_read(text: str, expected: int) -> None:
    assert parse_instant(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-02-30", "'2026-02-30' is not a real date: day is out of range for month"),
        ("2023-02-29", "'2023-02-29' is not a real date: day is out of range for month"),
        ("2026-13-01", "'2026-13-01' is not a real date: month must be in 1..12"),
        ("2026-01-01T24:00", "'2026-01-01T24:00' is not a real date: hour must be in 0..23"),
        ("2026-01-01T23:59:60Z", "'2026-01-01T23:59:60Z' is not a real date: second must be in 0..59"),
        ("1969-12-31T23:59:59Z", "'1969-12-31T23:59:59Z' lies outside the years 1970 to 9999"),
        ("1970-01-01T00:00+00:01", "'1970-01-01T00:00+00:01' lies outside the years 1970 to 9999"),
        ("9999-12-31T23:59:59-00:01", "'9999-12-31T23:59:59-00:01' lies outside the years 1970 to 9999"),
        ("0001-01-01T00:00+23:59", "'0001-01-01T00:00+23:59' lies outside the years 1970 to 9999"),
        ("0000-01-01", "'0000-01-01' is not a real date: year 0 is out of range"),
        ("2026-01-01T00:00+99:99", "'2026-01-01T00:00+99:99' has no real zone"),
        ("yesterday", "'yesterday' is not a date such as 2026-03-04T16:20:00Z"),
        ("", "'' is not a date such as 2026-03-04T16:20:00Z"),
        ("12:30:45", "'12:30:45' is not a date such as 2026-03-04T16:20:00Z"),
        ("20260304", "'20260304' is not a date such as 2026-03-04T16:20:00Z"),
        ("1" * 5000, f"'{'1' * 40}' is not a date such as 2026-03-04T16:20:00Z"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^'") as caught:
        parse_instant(text)
    assert str(caught.value) == message


def test_digits_of_other_scripts_are_no_date() -> None:
    with pytest.raises(ValueError, match="is not a date such as"):
        parse_instant("\u0662\u0660\u0662\u0666-01-01")


@pytest.mark.parametrize("ms", [0, 1, 999, MS, MS + 1, MS + 500, LAST])
def test_what_is_written_is_read_back(ms: int) -> None:
    assert parse_instant(format_instant(Instant(ms))) == ms


def test_the_one_form() -> None:
    assert format_instant(Instant(MS)) == "2023-11-14T22:13:20Z"
    assert format_instant(Instant(MS + 7)) == "2023-11-14T22:13:20.007Z"
    assert format_instant(Instant(0)) == "1970-01-01T00:00:00Z"
    assert format_instant(Instant(LAST)) == "9999-12-31T23:59:59.999Z"
    assert format_date(Instant(MS)) == "2023-11-14"
    assert format_date(UNKNOWN) == "no date"


def test_months_name_folders_for_any_48_bits() -> None:
    assert month(MS) == "2023-11"
    assert month(0) == "1970-01"
    assert month(2**48 - 1) == "9999-12"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("June 2026", "2026-06-01"),
        ("2026-06", "2026-06-01"),
        ("3 Jun", "2026-06-03"),
        ("June 3, 2025", "2025-06-03"),
        ("December", "2025-12-01"),
        ("2026-06-03", "2026-06-03"),
        ("last week", None),
    ],
)
def test_a_day_is_read_as_people_write_it(text: str, day: str | None) -> None:
    found = parse_day(text, parse_instant("2026-09-20"))
    assert (found and format_date(found)) == day
