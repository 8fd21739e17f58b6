"""Every published vector of the derivation, and the traps settled beside it."""

from __future__ import annotations

import hashlib
import uuid

import pytest

from forgekit import ids
from forgekit.ids import EntityId

P = EntityId("a48e83a0-af8c-5975-9225-16e202e1338c")
C1 = EntityId("018bcfe5-6800-8625-89cf-d5faf30f5d9e")
C2 = EntityId("018bd01c-5680-8f8d-8100-fad94ae904ff")
MS = 1_700_000_000_000
TEXT = "Use UUID v7 for all resource IDs"


def test_the_base_namespace() -> None:
    assert ids.BASE == "ee850594-5970-5ffe-9688-023710c187ec"
    assert str(uuid.uuid5(uuid.NAMESPACE_DNS, "forgeos.local")) == ids.BASE
    assert str(uuid.uuid5(uuid.UUID(P), "a name: ü")) == ids.v5(P, "a name: ü")


def test_the_time_enters_the_hash_as_eight_bytes() -> None:
    digest = hashlib.sha256(uuid.UUID(ids.BASE).bytes + MS.to_bytes(8, "big")).hexdigest()
    assert digest.startswith("ef977fb4f7f84410c135cff1")


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (0, "00000000-0000-85f5-871a-62e4c7255005"),
        (1, "00000000-0001-82a8-9751-2287a0e0e66a"),
        (MS, "018bcfe5-6800-8f97-bfb4-f7f84410c135"),
        (2**48 - 1, "ffffffff-ffff-86b4-81c6-e0401d8b44e0"),
    ],
)
def test_v8_of_the_base(ms: int, expected: str) -> None:
    assert ids.v8(ids.BASE, ms) == expected
    assert ids.timestamp(expected) == ms


def test_the_bits_of_the_rfc_example() -> None:
    digest = hashlib.sha256(uuid.NAMESPACE_DNS.bytes + b"www.example.com").digest()
    raw = bytearray(digest[:16])
    raw[6], raw[8] = raw[6] & 0x0F | 0x80, raw[8] & 0x3F | 0x80
    assert str(uuid.UUID(bytes=bytes(raw))) == "5c146b14-3c52-8afd-938a-375d0df1fbf6"


def test_each_kind_of_id() -> None:
    assert ids.project_id("The Nexus") == P
    assert ids.v8_named(ids.BASE, "The Nexus", MS) == "018bcfe5-6800-884d-9832-b65facd90be5"
    assert ids.conversation_id(P, "Pagination design", MS) == C1
    assert ids.conversation_id(P, "Pagination follow-up", MS + 3_600_000) == C2
    assert ids.thread_id(P, "Design pagination strategy", C1) == "018bcfe5-6800-826f-96f9-fb59f47a1cbd"
    assert ids.text_hash(TEXT) == "fd57c1ed69d5bab2"
    assert ids.decision_id(P, TEXT, C1) == "018bcfe5-6800-8f8f-b518-b34bfcd74276"
    assert ids.archive_id(P, C1, "1-35", MS + 1_800_000) == "018bd000-df40-8b34-b88c-13bc785317d8"


def test_the_published_pair_is_the_name_that_the_pair_id_folds_in() -> None:
    published = str(uuid.uuid5(uuid.UUID(ids.BASE), min(C1, C2) + max(C1, C2)))
    assert published == "a52c57fd-269f-5259-9a87-adbc3b7e4ba1"
    assert ids.pair_id(C1, C2) == ids.v8(published, MS + 3_600_000)


def test_derivations_that_rest_on_v8_named() -> None:
    canonical = str(uuid.uuid5(uuid.UUID(P), "canonical:decision:" + ids.text_hash(TEXT)))
    assert ids.v8(canonical, 0) == "00000000-0000-8384-9903-efc03e0ce72b"
    instance = ids.v8_named(ids.BASE, f"instance:{C1}:D001", ids.timestamp(C1))
    assert instance == "018bcfe5-6800-89b4-bb9d-937a5ee71f34"


def test_a_pair_is_the_same_from_either_side() -> None:
    assert ids.pair_id(C1, C2) == ids.pair_id(C2, C1)
    assert ids.timestamp(ids.pair_id(C1, C2)) == MS + 3_600_000


def test_the_time_of_an_id_is_its_own_then_the_given_one_then_zero() -> None:
    v7 = "018bcfe5-6800-7000-8000-000000000000"
    v4 = "48ff6473-0000-4000-8000-000000000000"
    assert ids.timestamp(v7) == MS
    assert ids.timestamp(v7, 5) == MS
    assert ids.timestamp(v4, 5) == 5
    assert ids.timestamp(v4) == 0
    assert ids.timestamp("no id") == 0


def test_a_conversation_of_version_4_gives_the_same_ids_every_time() -> None:
    v4 = EntityId("48ff6473-0000-4000-8000-000000000000")
    assert ids.thread_id(P, "T", v4, MS) == ids.thread_id(P, "T", v4, MS)
    assert ids.timestamp(ids.thread_id(P, "T", v4, MS)) == MS
    assert ids.timestamp(ids.decision_id(P, "T", v4)) == 0


@pytest.mark.parametrize("ms", [-1, 2**48])
def test_a_time_outside_48_bits_is_refused(ms: int) -> None:
    with pytest.raises(ValueError, match=rf"^{ms} ms lies outside 0 \.\. 2\*\*48 - 1$"):
        ids.v8(ids.BASE, ms)


def test_two_spellings_of_one_text_have_one_id() -> None:
    nfc = ids.thread_id(P, "Caf\u00e9 plan", C1)
    assert ids.thread_id(P, "Cafe\u0301 plan", C1) == nfc
    assert ids.thread_id(P, "  Caf\u00e9 \t\n plan ", C1) == nfc
    assert ids.decision_id(P, f" {TEXT}  ", C1) == ids.decision_id(P, TEXT, C1)
    assert ids.thread_id(P, "Caf\u00e9 Plan", C1) != nfc


def test_match_keys_forget_case_and_final_stops() -> None:
    assert ids.match_key(" Use  UUIDs. ") == ids.match_key("use uuids")


@pytest.mark.parametrize(
    "text",
    [
        "../../x",
        "018bcfe5-6800-8625-89cf-d5faf30f5d9e/../x",
        f"{C1}\n",
        f"{C1}\x00",
        C1.replace("-", "\u2010"),
        C1.upper(),
        C1.replace("-", ""),
        f"{{{C1}}}",
        "018bcfe5-6800-9625-89cf-d5faf30f5d9e",
        "018bcfe5-6800-0625-89cf-d5faf30f5d9e",
        "018bcfe5-6800-8625-c9cf-d5faf30f5d9e",
        "\u0661" + C1[1:],
        "",
    ],
)
def test_only_the_canonical_form_is_an_id(text: str) -> None:
    assert not ids.is_id(text)
    with pytest.raises(ValueError, match=r"is not a valid id$") as caught:
        ids.parse_id(text)
    assert str(caught.value) == f"{text!r} is not a valid id"
