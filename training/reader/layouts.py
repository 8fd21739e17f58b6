"""Archives in plain layouts, made of the label table's words and the words of marked archives.

They teach the tagger every label that the table knows, ids of every shape, and records in very few words.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

from annotated import Marked, unmarked
from variants import Pool

from forgekit.archives.labels import field_words

_SHORT = (
    "Use X",
    "Rows",
    "Keep rows",
    "Drop Q",
    "SQLite",
    "Go with B",
    "Weekly",
    "No cache",
    "Store ids as text",
)
_ASKED = ("Who pays?", "Which host?", "Which bank?", "Is it fast", "When", "How many rows?", "Limits")
_WHY = ("small", "cheap", "it is small", "less to carry", "fast")
_HEADS = {
    "D": """Decisions|DECISIONS|Decisions made|Decided|What we decided|Key decisions|Agreed|Beschlüsse
        |Décisions|Decisiones|Decisioni|Decisões|決定事項|决定|Decision log|In force|Settled""",
    "T": """Threads|Open threads requiring resolution|Open questions|Open threads|OPEN|Offene Fragen
        |Questions ouvertes|Hilos abiertos
        |Domande aperte|未解決|Still open|Unresolved|Loose ends|Questions|Active threads""",
}
_OTHERS = """Next steps|Glossary|Risks|Notes|Action items|To do|Example|Background|Insights
    |Inherited from A_B_1|Template|From the last archive|Key takeaways|People"""
_IDS = {
    "D": """D00{n}|D{n}|D-00{n}|DEC-0{n}|Decision {n}|K{n}|#{n}|E{n}|Q-{n}|C{n}|B-0{n}|d{n}|A.{n}|A{n}|FT-2{n}
        |Delibera {n}|Décision {n}|Beschluss {n}|決-{n}|決定{n}|\u0420{n}|KR{n}|{n}.1|RB-{n}""",
    "T": "T00{n}|T{n}|Q{n}|T-{n}|OT-00{n}|Thread {n}|P{n}|課-{n}|Frage {n}|F{n}|H{n}",
}
_STATES = {
    "D": {
        "active": "active|accepted|in force|✅",
        "superseded": "superseded|replaced|ersetzt",
        "invalidated": "rejected|withdrawn|dropped|❌",
        "revised": "revised|amended",
    },
    "T": {
        "open": "open|OPEN|pending|offen|[ ]",
        "resolved": "resolved|RESOLVED|done|✅|[x]|answered",
        "abandoned": "abandoned|dropped|aufgegeben",
    },
}
_PRIORITY = {"high": "high|HIGH|P1|🔴|hoch|urgent", "medium": "medium|P2|🟡|mittel", "low": "low|P3|🟢"}
_FIELDS = {
    "D": {
        "tier": "tier",
        "why": "rationale",
        "alt": "alternatives",
        "dep": "dependencies",
        "state": "status",
    },
    "T": {"prio": "priority", "state": "status", "blk": "blocked_by", "res": "resolution"},
}


def _split(words: str) -> list[str]:
    return [word.strip() for word in words.split("|")]


class _Writer:
    def __init__(self, pool: Pool, rng: random.Random) -> None:
        self.pool, self.rng = pool, rng
        self.language = rng.choice(sorted({name for name, *_ in pool}))
        self.brief = rng.random() < 0.4

    def words(self, tag: str, short: Sequence[str]) -> str:
        found = self.pool.get((self.language, tag, ""), ())
        return self.rng.choice(short) if self.brief or not found else self.rng.choice(found)

    def value(self, tag: str, kind: str, ids: Sequence[str]) -> str:
        rng = self.rng
        if tag == "tier":
            tier = rng.randrange(1, 20) / 20
            shown = rng.choice(
                (
                    f"{tier}",
                    f"{tier:.2f}",
                    f"{tier:.0%}",
                    f"{round(tier * 10)}/10",
                    "★" * max(1, round(tier * 5)),
                )
            )
            return f"⟦tier.{tier}|{shown}⟧"
        if tag in ("state", "prio"):
            table = _STATES[kind] if tag == "state" else _PRIORITY
            name = rng.choice(sorted(table))
            return f"⟦{tag}.{name}|{rng.choice(_split(table[name]))}⟧"
        if tag == "alt":
            return rng.choice(("; ", ", ", " | ")).join(
                f"⟦alt|{self.words('alt', ('Y', 'Z', 'MySQL'))}⟧" for _ in range(rng.randint(1, 3))
            )
        if tag == "dep":
            return (
                ", ".join(f"⟦dep|{each}⟧" for each in rng.sample(ids, min(len(ids), rng.randint(1, 2))))
                or "-"
            )
        short = {"why": _WHY, "blk": ("T2", "the bank", "legal"), "res": ("Ann", "yes", "no, never")}[tag]
        return f"⟦{tag}|{self.words(tag, short)}⟧"

    def record(self, kind: str, ids: Sequence[str]) -> tuple[str, list[tuple[str, str]]]:
        """Return the marked words of a record, and labels with marked values."""
        rng = self.rng
        chosen = [field for field in _FIELDS[kind].items() if rng.random() < 0.55]
        rng.shuffle(chosen)
        fields = []
        for tag, name in chosen:
            label = rng.choice(field_words(kind, name))
            fields.append(
                (rng.choice((label, label.capitalize(), label.upper())), self.value(tag, kind, ids))
            )
        state = next(
            (each.split(".")[1].split("|")[0] for _, each in fields if each.startswith("⟦state")), ""
        )
        words = self.words(kind, _SHORT if kind == "D" else _ASKED)
        return f"⟦{kind}.{state or ('active' if kind == 'D' else 'open')}|{words}⟧", fields


def layouts(pool: Pool, count: int, rng: random.Random) -> Iterator[Marked]:
    """Yield archives in plain layouts."""
    for _ in range(count):
        yield unmarked(_archive(_Writer(pool, rng)))


def _archive(writer: _Writer) -> str:
    rng = writer.rng
    parts = [_head(writer)]
    layout = rng.choice(_LAYOUTS)
    for kind in rng.sample("DT", rng.randint(1, 2)):
        pattern = rng.choice(_split(_IDS[kind]))
        ids = [pattern.format(n=n) for n in range(1, rng.randint(2, 5))]
        with_ids = rng.random() < 0.7
        records = [(f"⟦^id|{name}⟧" if with_ids else "", *writer.record(kind, ids)) for name in ids]
        parts.append(layout(rng.choice(_split(_HEADS[kind])), records, rng))
        if rng.random() < 0.5:
            lines = (f"- {writer.words('insight', _WHY)}" for _ in range(rng.randint(1, 3)))
            parts.append("\n".join([f"## {rng.choice(_split(_OTHERS))}", "", *lines]))
    return "\n\n".join(parts) + "\n"


def _head(writer: _Writer) -> str:
    rng = writer.rng
    tag, parent = writer.words("tag", ("A_B_2", "ROWS_KEPT")), writer.words("parent", ("A_B_1",))
    facts = [
        ("Tag", f"⟦tag|{tag}⟧"),
        ("Date", "⟦date|2026-03-04⟧"),
        ("Project", f"⟦project|{writer.words('project', ('Nexus',))}⟧"),
        (rng.choice(("Continues", "Follows", "Parent")), f"⟦parent|{parent}⟧"),
    ]
    chosen = [each for each in facts if rng.random() < 0.7]
    mark = rng.choice(("**{}:** {}", "{}: {}", "- {}: {}", "- **{}**: {}"))
    title = rng.choice(("# Conversation Archive: rows", "# Archive", "## Compressed", ""))
    return "\n".join([title, "", *(mark.format(*each) for each in chosen)]).strip()


Records = list[tuple[str, str, list[tuple[str, str]]]]


def _bullets(head: str, records: Records, rng: random.Random) -> str:
    mark, inner = (
        rng.choice(
            (
                "- {} {}",
                "- **{}** {}",
                "* {}: {}",
                "1. {} — {}",
                "- **{}: {}**",
                "- **{}** — {}",
                "• {} \u2013 {}",
            )
        ),
        rng.choice(("  - {}: {}", "  - **{}:** {}", "  - {} → {}", "    {}: {}")),
    )
    lines = [rng.choice(("## {}", "**{}**", "{}:", "### {}")).format(head), ""]
    for name, words, fields in records:
        lines += [
            mark.format(name, words) if name else f"{mark[:2]}{words}",
            *(_nested(inner, *each, rng) for each in fields),
        ]
    return "\n".join(lines)


def _nested(inner: str, label: str, value: str, rng: random.Random) -> str:
    """Return a labelled field, sometimes with each alternative on a line of its own."""
    if "⟦alt" not in value or rng.random() < 0.6:
        return inner.format(label, value)
    options = re.findall("⟦[^⟧]*⟧", value)
    return "\n".join([inner.format(label, "").rstrip(), *(f"{' ' * 6}- {option}" for option in options)])


def _headings(head: str, records: Records, rng: random.Random) -> str:
    lines, inner = (
        [f"## {head}"],
        rng.choice(("- **{}:** {}", "**{}:** {}", "{}: {}", "- {}: {}", "#### {}\n\n{}\n")),
    )
    title = rng.choice(("### {}: {}", "### {} {}", "### {} — {}", "### {}. {}"))
    place, gap = rng.choice(("before", "before", "behind", "below")), [""] * rng.randint(0, 1)
    for number, (name, words, fields) in enumerate(records, 1):
        before = rng.choice(("", "", f"{number}. ", "✅ ", f"{number}\ufe0f\u20e3 "))
        if not name or place == "below":
            lines += ["", f"### {before}{words}", *gap]
            lines += [inner.format("ID", name.replace("^", ""))] if name else []
        elif place == "behind":
            lines += ["", f"### {before}{words} ({name.replace('^', '')})", *gap]
        else:
            lines += ["", title.format(name, words), *gap]
        lines += [inner.format(*each) for each in fields]
    return "\n".join(lines)


def _table(head: str, records: Records, rng: random.Random) -> str:
    labels: list[str] = []
    rows = []
    kind = records[0][1][1]
    names = {tag: rng.choice(field_words(kind, name)).capitalize() for tag, name in _FIELDS[kind].items()}
    for _, _, fields in records:
        labels += [tag for _, value in fields if (tag := value[1:].split(".")[0].split("|")[0]) not in labels]
    labels = [label for label in labels if label in names]
    for name, words, fields in records:
        cells = {value[1:].split(".")[0].split("|")[0]: value for _, value in fields}
        rows.append([*([name] if records[0][0] else []), words, *(cells.get(label, "-") for label in labels)])
    title = rng.choice(
        ("Decision", "What", "Choice", "Text") if kind == "D" else ("Question", "Thread", "Title", "Issue")
    )
    columns = [
        *([rng.choice(("ID", "Ref", "#", "Nr"))] if records[0][0] else []),
        title,
        *(names[label] for label in labels),
    ]
    lines = [columns, ["---"] * len(columns), *rows]
    return f"## {head}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _inline(head: str, records: Records, rng: random.Random) -> str:
    lines = [rng.choice(("## {}", "{}", "=== {} ===", "{}\n------")).format(head), ""]
    join, outer = rng.choice((", ", " · ", "; ", " | ")), rng.choice((" ({})", " — {}", " [{}]", ". {}"))
    for name, words, fields in records:
        said = join.join(f"{label}: {value}" for label, value in fields)
        lines.append(f"- {name}{' ' if name else ''}{words}{outer.format(said) if said else ''}")
    return "\n".join(lines)


_SPOKEN = {
    "tier": ("{}", "({})", "\u2013 {}"),
    "why": ("because {}", "as {}", "weil {}", "car {}", "porque {}"),
    "alt": ("not {}", "instead of {}", "statt {}", "rejected: {}"),
    "state": ("[{}]", "({})", "\u2013 {}"),
    "prio": ("({})", "\u2013 {}", "!{}"),
    "blk": ("(blocked by {})", "waits for {}", "wartet auf {}"),
    "res": ("→ {}", "— {}", "(answer: {})"),
    "dep": ("(depends on {})", "needs {}"),
}


def _spoken(head: str, records: Records, rng: random.Random) -> str:
    """Return records whose fields are joined by words and marks, without labels."""
    lines = [rng.choice(("## {}", "**{}:**", "{}", "{}:")).format(head), ""]
    join, bullet = rng.choice((" ", ", ", " \u2013 ", "; ")), rng.choice(("- ", "• ", "", "{}. ", "* "))
    said = {tag: rng.choice(ways) for tag, ways in _SPOKEN.items()}
    for number, (name, words, fields) in enumerate(records, 1):
        tags = [(value[1:].split(".")[0].split("|")[0], value) for _, value in fields]
        shown = rng.choice(("[{}] ", "**[{}]** ", "({}) "))
        first = [shown.format(value.replace("⟦prio", "⟦^prio")) for tag, value in tags if tag == "prio"]
        first = first if rng.random() < 0.5 else []
        parts = [said[tag].format(value) for tag, value in tags if not (first and tag == "prio")]
        begin = f"{bullet.format(number)}{''.join(first)}{name}{': ' if name else ''}{words}"
        lines += [join.join([begin, *parts]), *([""] if not bullet else [])]
    return "\n".join(lines)


def _run_on(head: str, records: Records, rng: random.Random) -> str:
    """Return records one behind another in a sentence."""
    join, tail = rng.choice(("; ", ". ", "; ")), rng.choice((" ({})", " ({})", ", {}"))
    said = {tag: ways[-1].strip("()") for tag, ways in _SPOKEN.items()}
    parts = []
    for name, words, fields in records:
        tags = [(value[1:].split(".")[0].split("|")[0], value) for _, value in fields]
        shown = [
            said[tag].format(value).strip("!()[]") for tag, value in tags if tag in ("prio", "blk", "dep")
        ]
        parts.append(f"{name}{' ' if name else ''}{words}{tail.format(', '.join(shown)) if shown else ''}")
    return f"{rng.choice(('{}: ', '**{}**: ', '{} - ')).format(head)}{join.join(parts)}."


def _indented(head: str, records: Records, rng: random.Random) -> str:
    """Return records as plain lines with their fields indented below them."""
    lines, inner = [rng.choice(("## {}", "{}", "**{}**")).format(head)], rng.choice(("  ", "    ", "\t"))
    for name, words, fields in records:
        lines += ["", f"{name}{' ' if name else ''}{words}"]
        lines += [f"{inner}{label}: {value}" for label, value in fields]
    return "\n".join(lines)


def _data(head: str, records: Records, rng: random.Random) -> str:
    lines = [f"{head.casefold().replace(' ', '_')}:"]
    key = rng.choice(field_words(records[0][1][1], "text"))
    for name, words, fields in records:
        first = [("id", name)] if name else []
        pairs = [
            *first,
            (key, words),
            *((label.casefold().replace(" ", "_"), value) for label, value in fields),
        ]
        lines += [f"  {'- ' if n == 0 else '  '}{label}: {value}" for n, (label, value) in enumerate(pairs)]
    return "\n".join(["```yaml", *lines, "```"]) if rng.random() < 0.6 else "\n".join(lines)


def _labelled(head: str, records: Records, _rng: random.Random) -> str:
    noun = "Decision" if records[0][1][1] == "D" else "Question"
    lines = [head.upper(), ""]
    for name, words, fields in records:
        lines += [f"ID: {name}"] * bool(name) + [
            f"{noun}: {words}",
            *(f"{label}: {value}" for label, value in fields),
            "",
        ]
    return "\n".join(lines)


_LAYOUTS: tuple[Callable[[str, Records, random.Random], str], ...] = (
    _bullets,
    _bullets,
    _headings,
    _table,
    _inline,
    _spoken,
    _run_on,
    _indented,
    _data,
    _labelled,
)
