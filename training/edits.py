"""Small changes of a text that turn its meaning round, and some that do not."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from phrasing import negated

_PAIRS = """
always/never  every/no  all/none of the  everyone/nobody  everything/nothing  both/neither  allowed/forbidden
encrypted/unencrypted  public/private  open/closed  manual/automatic  manually/automatically
weekly/monthly
daily/weekly  monthly/yearly  hourly/daily  quarterly/monthly  opt-in/opt-out  synchronous/asynchronous
synchronously/asynchronously  mandatory/optional  required/optional  fixed/variable  static/dynamic
first/last  before/after  online/offline  local/remote  locally/remotely  internal/external
centralised/distributed  central/local  single/multiple  one/several  more/less  most/fewest  minimum/maximum
inside/outside  indoors/outdoors  early/late  short/long  small/large  few/many  free/paid  cheap/expensive
permanent/temporary  strict/lenient  signed/anonymous  named/anonymous  verbose/silent  mutable/immutable
sorted/unsorted  lossless/lossy  stateful/stateless  shared/separate  shared/dedicated  together/separately
alone/together  included/excluded  includes/excludes  with/without  enabled/disabled  enable/disable
allow/forbid  accept/reject  accepts/rejects  keep/delete  keeps/deletes  kept/deleted  add/remove  show/hide
shows/hides  shown/hidden  start/stop  raise/lower  increase/reduce  buy/sell  rent/buy  hire/dismiss
merge/split  centralise/distribute  read/write  import/export  lock/unlock  publish/withhold
trust/distrust  retry/abort  block/permit  blocks/permits  visible/invisible  sweet/savoury  hot/cold
warm/cold  dry/wet  raw/cooked  vegetarian/with meat  paper/digital  handwritten/printed  written/oral
oral/written  individual/joint  voluntary/compulsory  soft/hard  black/white  day/night
morning/evening  summer/winter  monday/friday  tuesday/thursday  january/june  march/september
rail/air  train/plane  car/bike  euros/dollars  kilometres/miles  metric/imperial  english/german
french/spanish  client/server  browser/server  frontend/backend  tabs/spaces  ascending/descending
increasing/decreasing  natural/synthetic  fundamental/derived  discrete/continuous  finite/infinite
deterministic/random  direct/indirect  formal/informal  serious/playful  narrow/broad
whole/partial  complete/partial  exact/approximate  active/passive  oldest/newest  seldom/often
rarely/frequently  immediately/later  at once/in batches  in memory/on disk  at home/in the office
by hand/by machine  in advance/afterwards  from scratch/from a template  once/twice  half/whole
"""
_CLASSES = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "january february march april june july august september october november december",
    "red blue green yellow black white grey orange purple",
    "english german french spanish italian dutch polish japanese",
    "euros dollars pounds francs yen",
    "python rust java kotlin typescript ruby erlang swift",
    "postgres mysql sqlite mongodb oracle cassandra",
    "redis memcached hazelcast",
    "kafka rabbitmq nats",
    "terraform pulumi ansible",
    "jenkins buildkite circleci",
    "berlin paris london madrid vienna oslo dublin",
    "spring summer autumn winter",
    "json xml csv yaml protobuf parquet",
    "linear logarithmic quadratic exponential",
    "hourly daily weekly fortnightly monthly quarterly yearly",
    "two three four five six seven eight nine ten twelve fifteen twenty thirty forty fifty sixty",
)


def _opposites() -> dict[str, tuple[str, ...]]:
    out: dict[str, set[str]] = {}
    for entry in re.split(r"\s{2,}|\n", _PAIRS.strip()):
        one, other = entry.split("/")
        out.setdefault(one, set()).add(other)
        out.setdefault(other, set()).add(one)
    for line in _CLASSES:
        for word in line.split():
            out.setdefault(word, set()).update(other for other in line.split() if other != word)
    return {word: tuple(sorted(others)) for word, others in out.items() if " " not in word}


OPPOSITES = _opposites()
"""What a word is exchanged for, so that both texts cannot hold."""
_SYNONYMS = {
    "use": "employ", "every": "each", "must": "has to", "store": "save", "runs": "is run", "only": "solely",
    "delete": "remove", "choose": "pick", "big": "large", "begin": "start", "all": "every one of the",
    "buy": "purchase", "before": "ahead of", "after": "following", "show": "display", "needs": "requires",
    "staff": "employees", "customers": "clients", "weekly": "once a week", "monthly": "once a month",
    "daily": "once a day", "yearly": "once a year", "allowed": "permitted", "forbidden": "prohibited",
    "everyone": "everybody", "nobody": "no one", "never": "at no time", "always": "at all times",
}  # fmt: skip
_LABELS = frozenset(
    ("level", "module", "version", "phase", "step", "severity", "team", "room", "chapter", "part", "number")
)
_NEGATIONS = (
    (" is ", " is not "), (" are ", " are not "), (" must ", " must not "), (" may ", " may not "),
    (" can ", " cannot "), (" will ", " will not "), (" has ", " does not have "),
    (" have ", " do not have "),
    (" gets ", " does not get "), (" get ", " do not get "), (" needs ", " does not need "),
    (" need ", " do not need "), (" uses ", " does not use "), (" use ", " do not use "),
)  # fmt: skip


def opposite(random: Random, text: str) -> str | None:
    """Return a text with a late word turned into its opposite or another of its class; None without one.

    A late one, because an early one tells what is spoken of: "local branches" and "central branches" can
    both be rebased.
    """
    return _exchanged(random, text, lambda place: place >= 0.4)


def other_subject(random: Random, text: str) -> str | None:
    """Return a text with its second or third word exchanged: the same said of another thing."""
    first = text.partition(" ")[0]
    if negated(text) is not None or first.lower() in OPPOSITES:
        return None
    return _exchanged(random, text, lambda place: 0 < place < 0.25)


def _exchanged(random: Random, text: str, fits: Callable[[float], bool]) -> str | None:
    words = _words(text)
    places = [(at, word) for at, word in words if word.lower() in OPPOSITES and fits(at / len(text))]
    if not places:
        return None
    at, word = random.choice(places)
    return _put(text, at, word, random.choice(OPPOSITES[word.lower()]))


def denied(random: Random, text: str) -> str | None:
    """Return a text with a "not" where it decides; None where no place is known."""
    if (order := negated(text)) is not None:
        return order
    if re.search(r"\b(?:no|not|never|nothing|nobody|none|without|neither)\b", text.lower()):
        return None
    found = [(old, new) for old, new in _NEGATIONS if re.search(old + r"(?!been|no |\w+ed )", text)]
    if not found:
        return None
    old, new = random.choice(found)
    return text.replace(old, new, 1)


def other_number(random: Random, text: str) -> str | None:
    """Return a text with another number in it; None where none counts or measures anything."""
    places = []
    for found in re.finditer(r"(?<![\w.,:-])\d+(?![\w.:-]|,\d)", text):
        before = text[: found.start()].split()
        if not before or before[-1].lower() not in _LABELS:
            places.append(found)
    if not places:
        return None
    found = random.choice(places)
    number = int(found[0])
    others = [n for n in (number * 2, number * 3, number * 10, number // 2, number + 1, number - 1) if n > 0]
    other = random.choice([n for n in others if n != number] or [number + 1])
    return text[: found.start()] + str(other) + text[found.end() :]


def same_meaning(random: Random, text: str) -> str | None:
    """Return a text with a word in place of one that means the same; None without one."""
    places = [(at, word) for at, word in _words(text) if word.lower() in _SYNONYMS]
    if not places:
        return None
    at, word = random.choice(places)
    return _put(text, at, word, _SYNONYMS[word.lower()])


def _words(text: str) -> list[tuple[int, str]]:
    return [(found.start(), found[0]) for found in re.finditer(r"[A-Za-z]+(?:-[a-z]+)*", text)]


def _put(text: str, at: int, old: str, new: str) -> str:
    new = new[0].upper() + new[1:] if old[0].isupper() else new
    return text[:at] + new + text[at + len(old) :]
