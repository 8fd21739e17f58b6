"""Every operation of forgekit, once: its name, arguments, function, and the view of its result.

The command line, shell completion and the README's table of commands are made from `OPERATIONS`; nothing
else declares an operation or an argument. Each start of the command line reads this module, so it holds
literals only: the function of an operation is imported when the operation is called.

An operation's function takes the open registry and the arguments that were given, by name; one that
writes takes `options` (`forgekit.change.WriteOptions`) too. The view is a function of
`forgekit.insight.views` that returns the result as JSON values.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple


class Type(Enum):
    """What an argument holds."""

    TEXT = auto()
    STATEMENT = auto()  # one line; `-` reads standard input
    WORDS = auto()  # all words that follow, as one text
    PAIR = auto()  # two texts
    ID = auto()  # of an entity, by any of its names
    PROJECT = auto()
    TAG = auto()
    COUNT = auto()
    SHARE = auto()  # 0.0 to 1.0
    CHOICE = auto()
    DATE = auto()  # in the past
    REVISION = auto()  # of git, or a date
    PATH = auto()
    FLAG = auto()
    OFF = auto()  # a flag for False
    SWITCH = auto()  # two options, for True and for False


class Argument(NamedTuple):
    """One argument of an operation.

    Attributes:
        name: the parameter of the function.
        help: one sentence.
        option: how the command line spells it, where that is not `--` and the name.
        metavar: what help shows for the value, where the type's own is not clear.
        of: the values of a choice, or the kinds whose ids are meant (none: all kinds).
        least: the smallest COUNT.
        many: whether it may be given several times.
        replaces: the values replace what there was, and one empty value means none.
        printing: it changes only what a terminal shows; the function does not take it.
    """

    name: str
    type: Type = Type.TEXT
    help: str = ""
    option: str = ""
    metavar: str = ""
    of: tuple[str, ...] = ()
    least: int = 1
    default: str | int | None = None
    positional: bool = False
    required: bool = False
    many: bool = False
    replaces: bool = False
    printing: bool = False


class Operation(NamedTuple):
    """One operation.

    Attributes:
        name: as typed, such as `decision new`.
        summary: one sentence.
        function: `module:function`.
        examples: command lines.
        view: of the result; "" where that is a text, or nothing.
        writes: whether it takes write options.
        fixed: arguments of the function that the name implies.
        more: what help shows below the summary.
        section: the heading under which the command (or its noun) is listed.
        anywhere: it works outside a registry too; the function is given None then.
    """

    name: str
    summary: str
    function: str
    arguments: tuple[Argument, ...]
    examples: tuple[str, ...]
    view: str = ""
    writes: bool = False
    fixed: tuple[tuple[str, str], ...] = ()
    more: str = ""
    section: str = ""
    anywhere: bool = False


_positional = partial(Argument, positional=True, required=True)
_writing = partial(Operation, view="written", writes=True)
_of_session = partial(Operation, anywhere=True)

NOUNS = {
    "candidate": "What conversations seem to have decided; see also `review`",
    "project": "Named areas of work",
    "conversation": "Chats and agent runs",
    "thread": "Open questions",
    "decision": "What was chosen",
    "lineage": "Which conversation continues which",
    "conflict": "Decisions that cannot both be followed",
    "compaction": "What a coding agent's session must not lose when its context is compacted",
    "convention": "How the team wants work done",
    "archive": "Compressed conversations, kept verbatim",
    "note": "What people write down, and its topics (threads of thought)",
    "index": "The cache behind searches; it can be deleted at any time",
    "model": "The embedding model that searches by meaning use",
}
STATUSES = {
    "thread": ("open", "resolved", "superseded", "abandoned"),
    "decision": ("active", "revised", "superseded", "invalidated"),
    "conflict": ("open", "resolved", "scoped", "dismissed", "moot", "found", "possible"),
    "convention": ("observed", "ready", "active", "decayed", "rejected", "retired", "revised"),
    "candidate": ("waiting", "approved", "merged", "rejected", "registered"),
    "topic": ("active", "archived", "merged"),
}
OF_AGENTS = ("claude-code", "codex", "cursor", "gemini", "copilot")
"""The coding agents that call hooks."""
PLURALS = {"lineage": "lineage edges"}
TRANSCRIPT_FORMATS = ("auto", "claude", "claude-code", "chatgpt", "specstory", "markdown", "whatsapp")
_PREFIXES = {"conversation": "con", "thread": "thr", "decision": "dec", "lineage": "lin", "conflict": "cfl"}
_PREFIXES |= {"project": "prj", "candidate": "can", "archive": "arc", "note": "nte"}
_PREFIXES |= {"convention": "cnv"}
_SCOPES = (
    *("threads", "decisions", "lineage", "conversations", "archives"),
    *("notes", "conventions", "messages", "all"),
)
_COMPUTED = {"moot", "found", "possible"}  # no file has these
_STATED = (status for kind in ("thread", "decision", "conflict") for status in STATUSES[kind])
_FOUND = tuple(dict.fromkeys(status for status in _STATED if status not in _COMPUTED))
_INSTEAD = 'Replaces the old ones, "" for none; repeatable.'


def _id(*kinds: str, name: str = "") -> Argument:
    return _positional(name or "name", Type.ID, metavar=name.upper() or "ID", of=kinds)


# fmt: off
_PROJECT = Argument("project", Type.PROJECT, "The project's name.")
_AT = Argument("at", Type.DATE, "When it happened (default: now).")
_CONVERSATION = Argument(
    "conversation", Type.ID, "The conversation where it happened, by any name.", of=("conversation",))
_TAGS = Argument("tags", Type.TAG, "A tag; repeatable.", "--tag", many=True)
_NEW_TAGS = _TAGS._replace(help=_INSTEAD, replaces=True)
_TIER = Argument("tier", Type.SHARE, "The epistemic tier: how sure it is.")
_CONTENT = Argument("content", help="A description, Markdown.")
_TITLE = Argument("title", help="A new title; the id stays.")
_PRIORITY = Argument(
    "priority", Type.CHOICE, "How important it is; new threads are medium.", of=("high", "medium", "low"))
_RATIONALE = Argument("rationale", help="Why, Markdown.")
_CONTEXT = Argument("context", help="Under which circumstances, Markdown.")
_REJECTED = Argument(
    "alternatives", help="An alternative that was rejected; repeatable.", option="--rejected", many=True)
_DEPENDS_ON = Argument(
    "dependencies", Type.ID, "A decision that it builds on; repeatable.", "--depends-on", of=("decision",),
    many=True)
_GOVERNS = Argument(
    "governs", help="A path pattern or component that it governs; repeatable.", metavar="GLOB", many=True)
_SCOPE = Argument("scope", help="A path pattern or component that it applies to; repeatable.", metavar="GLOB",
    many=True)
_BLOCKED_BY = Argument(
    "blocked_by", Type.ID, "A thread it waits for, or what else in words; repeatable.", of=("thread",),
    many=True)
_STATEMENT = _positional("text", Type.STATEMENT, "The decision, one line; `-` reads standard input.")
_REASON = Argument("reason", help="Why.", required=True)
_RESOLUTION = Argument("resolution", help="How it ended, Markdown.")
_LIMIT = Argument("limit", Type.COUNT, "At most this many.", default=20)
_ALL = _LIMIT._replace(default=None)
_REVISION = Argument("at", Type.REVISION, "As it was at a revision or date.")
_AS_OF = Argument("as_of", Type.REVISION, "The registry of a revision or date.")
_BUDGET = Argument(
    "budget", Type.COUNT,
    "Room for the block (default: as in the settings); one that is too small is refused with the least "
    "that it holds.", metavar="TOKENS", least=100)
_WITH_TEXT = Argument("with_text", Type.SWITCH, "Keep the whole text (default: as in the settings).",
    "--with-text/--without-text")
_SESSION = (
    Argument("session", help="The agent's id of the session (default: the newest of this folder)."),
    Argument("transcript", Type.PATH, "The session's transcript, where the agent keeps it elsewhere."))
_FOR_OTHERS = _PROJECT._replace(help="For conversations whose project nothing else names.")
# fmt: on


def _section(heading: str, *operations: Operation) -> tuple[Operation, ...]:
    return tuple(operation._replace(section=heading) for operation in operations)


def _reading(kind: str) -> tuple[Operation, ...]:
    """Return what every noun has: `list`, `show`, `history`."""
    plural = PLURALS.get(kind, f"{kind}s")
    of_kind = partial(Operation, fixed=(("kind", kind),))
    command, name = f"forgekit {kind}", f"{_PREFIXES[kind]}_b34bfcd74276"
    sort = Argument("sort", Type.CHOICE, "The order.", of=("newest", "oldest", "title"), default="newest")
    filters = [_PROJECT] if kind != "project" else []
    usage = f"{command} list"
    if states := STATUSES.get(kind):
        filters.append(Argument("status", Type.CHOICE, "Only this status.", of=states))
        usage += f" --status {states[0]}"
    if kind in _TAGGED:
        filters.append(_TAGS._replace(help="Only with this tag; repeatable."))
    showing = [_id(kind), _REVISION]
    if kind == "archive":
        showing.append(Argument("text", Type.FLAG, "The archive alone, byte for byte.", printing=True))
    if kind == "conversation":
        turns = "Turns of the text, where it is kept: 12-18, or 12."
        showing.append(Argument("turns", help=turns, metavar="N-M"))
    # fmt: off
    return (
        of_kind(f"{kind} list", f"List {plural}.", "forgekit.queries:list_entities",
            (*filters, sort, _AS_OF, _ALL), (usage,), "listing"),
        of_kind(f"{kind} show", f"Show one {kind} with everything known about it.", "forgekit.queries:show",
            tuple(showing), (f"{command} show {name}", f"{command} show {name} --at 2026-03-01"), "shown"),
        of_kind(f"{kind} history", f"Show the commits that touched one {kind}, newest first.",
            "forgekit.queries:history", (_id(kind), _ALL), (f"{command} history {name}",), "commits"),
    )
    # fmt: on


def _edit(kind: str, function: str, usage: str, *arguments: Argument) -> Operation:
    command = f"forgekit {kind} edit {_PREFIXES[kind]}_b34bfcd74276"
    return _writing(
        f"{kind} edit",
        f"Change one {kind}; without options in $VISUAL or $EDITOR."
        + (" A project keeps its name." if kind == "project" else ""),
        function,
        (_id(kind), *arguments),
        (f"{command} {usage}", command),
        fixed=() if kind in {"thread", "decision", "note", "convention"} else (("kind", kind),),
    )


def _ending(verb: str, status: str, summary: str, resolution: str) -> Operation:
    return _writing(
        f"thread {verb}",
        summary,
        "forgekit.threads:resolve" if verb == "resolve" else "forgekit.threads:update",
        (_id("thread"), _RESOLUTION._replace(required=verb == "resolve"), _CONVERSATION, _AT),
        (f'forgekit thread {verb} thr_5a6b7c8d9e0f --resolution "{resolution}"',),
        fixed=() if verb == "resolve" else (("status", status),),
    )


def _answering(verb: str, status: str, summary: str) -> Operation:
    return _writing(
        f"convention {verb}",
        summary,
        "forgekit.conventions:answer",
        (_positional("names", Type.ID, metavar="ID...", of=("convention",), many=True),),
        (f"forgekit convention {verb} cnv_b34bfcd74276",),
        fixed=(("status", status),),
    )


_TAGGED = ("project", "conversation", "thread", "decision", "note")
# fmt: off
_FILE_ARCHIVES = Operation("sync-compression",
    "File archives and register their decisions, threads and lineage, in one commit.",
    "forgekit.filing.archives:sync_compression",
    (Argument("files", Type.PATH, metavar="[FILE]...", positional=True, many=True),
        Argument("archives", Type.PATH, "An archive; repeatable.", "--archive", "FILE|-", many=True),
        _PROJECT, Argument("tag", help="The compression tag, where the text names none.", metavar="TAG"),
        Argument("at", Type.DATE, "When it was compressed, where the text does not say."),
        Argument("parents", Type.TEXT, "What it continues; repeatable.", "--parent", "TAG", many=True),
        Argument("external_id", help="The platform's own id of the conversation.", metavar="UUID"),
        Argument("title", help="The conversation's title."),
        Argument("replace", Type.FLAG, "Put a corrected text in the place of the filed one."),
        Argument("strict", Type.FLAG, "Refuse an archive of which anything was not read.")),
    ("forgekit sync-compression --archive archive.md",
        'pbpaste | forgekit sync-compression --archive - --project "The Nexus"',
        "forgekit sync-compression archives-to-file/*.md --dry-run"), "filed", writes=True,
    more="FILE `-` is standard input. Filing an archive again changes nothing. The exit status is 1 where "
    "a file was refused, or a record or field was lost; everything else is filed.")

OPERATIONS: tuple[Operation, ...] = (
    *_section(
        "The loop",
        Operation("prepare-compression", "Print what a conversation must know before it is compressed.",
            "forgekit.briefing.blocks:prepare_compression",
            (_PROJECT, _BUDGET,
                Argument("instructions", Type.OFF, "Leave out how an archive is written.",
                    "--no-instructions")),
            ('forgekit prepare-compression --project "The Nexus" | pbcopy',), "block"),
        _FILE_ARCHIVES,
        Operation("prepare-continuation",
            "Print what has changed since an archive, to paste with it into the next conversation.",
            "forgekit.briefing.blocks:prepare_continuation",
            (Argument("tag", help="The archive's compression tag.", metavar="TAG", required=True),
                _PROJECT, _BUDGET), ("forgekit prepare-continuation --tag STORAGE_LAYER_RESULT",), "block"),
        Operation(
            "ask", "Answer a question from the registry, with sources.", "forgekit.briefing.answers:ask",
            (_positional("question", Type.WORDS), _PROJECT),
            ('forgekit ask "Why did we decide on UUID v7?"', 'forgekit ask "What about the queue?" --json'),
            "answer"),
    ),
    *_section(
        "Conversations in",
        Operation("ingest", "File conversations from exports and transcripts; a second time changes nothing.",
            "forgekit.filing.conversations:ingest",
            (_positional("form", Type.CHOICE, metavar="FORMAT", of=(*TRANSCRIPT_FORMATS, "notes")),
                _positional("paths", Type.PATH, metavar="PATH...", many=True), _FOR_OTHERS, _WITH_TEXT),
            ("forgekit ingest auto ~/.claude/projects --with-text",
                'forgekit ingest claude conversations.json --project "The Nexus" --dry-run',
                "forgekit ingest notes ~/vault"), "ingested", writes=True,
            more=f"FORMAT is one of {', '.join(TRANSCRIPT_FORMATS)}, or notes, whose PATH is a folder of "
            "Markdown. Another PATH may be a folder, a .zip or .gz file, or `-`. Each commit files up to 500 "
            "conversations; after an interruption, run it again. A dry run and --no-commit hold all of it in "
            "memory, --json the names of all that it filed. From cron: `*/10 * * * * forgekit -C REGISTRY "
            "ingest auto PATH`."),
        Operation("review", "List the candidates that wait for a person, and answer them.",
            "forgekit.filing.review:answer",
            (Argument("approve", help="Register it; repeatable.", metavar="ID", many=True),
                Argument(
                    "reject", help="Reject; do not suggest it again; repeatable.", metavar="ID", many=True),
                Argument("merge", Type.PAIR, "It equals a registered one, or is its end; repeatable.",
                    metavar="ID INTO", many=True),
                Argument("revise", Type.PAIR,
                    "It takes the place of a decision, or of a candidate, approved along; repeatable.",
                    metavar="ID INTO", many=True),
                Argument(
                    "titles", Type.PAIR, "Reword it; repeatable.", "--title", metavar="ID TEXT", many=True),
                Argument("approve_above", Type.SHARE, "Approve all of at least this confidence."),
                Argument("only_list", Type.FLAG, "List, and ask nothing.", "--list"), _PROJECT),
            ("forgekit review --list", "forgekit review --approve can_3f9a1c2b7d10 --reject can_9d0e4f5a6b7c",
                "forgekit review --merge can_3f9a1c2b7d10 dec_b34bfcd74276",
                "forgekit review --revise can_3f9a1c2b7d10 dec_b34bfcd74276",
                'forgekit review --approve can_3f9a1c2b7d10 --title can_3f9a1c2b7d10 "Use Postgres"',
                "forgekit review --approve-above 0.9"), "reviewed", writes=True,
            more="On a terminal, and with no answer given, each is asked about: q or Ctrl-D ends and writes "
            "what was answered. ID is an id or a part of one; `forgekit candidate show ID` shows one."),
        *_reading("candidate"),
    ),
    *_section(
        "Look",
        Operation("status", "Show the registry on one screen.", "forgekit.queries:status", (),
            ("forgekit status",), "status"),
        Operation("search",
            "Search by words and by meaning: decisions, threads, conversations and archives, kept texts.",
            "forgekit.queries:find",
            (_positional("query", Type.WORDS),
                Argument("scope", Type.CHOICE, "Where to look.", of=_SCOPES, default="all"), _PROJECT,
                Argument(
                    "status", Type.CHOICE, "Such as active, open or resolved.", metavar="STATUS", of=_FOUND),
                _AS_OF._replace(help="The registry of a revision or date, by words."),
                Argument("mode", Type.CHOICE,
                    "By words, by meaning, or both (default: both, where a model is installed).",
                    of=("lexical", "semantic", "hybrid")),
                Argument("explain", Type.FLAG, "Say why each hit has its rank.", printing=True), _LIMIT),
            ("forgekit search how do clients page through results",
                'forgekit search "queue" --scope decisions --status active --json'), "search"),
        Operation("context", "Print what the registry knows about a query, as a block to paste.",
            "forgekit.context:load",
            (_positional("query", Type.WORDS), _PROJECT,
                Argument("cross_project", Type.FLAG, "Search other projects too."), _BUDGET,
                Argument("include_threads", Type.OFF, "Leave threads out.", "--no-threads"),
                Argument("include_decisions", Type.OFF, "Leave decisions out.", "--no-decisions"),
                Argument("explain", Type.FLAG, "Say how each item was fitted in.", printing=True)),
            ('forgekit context "message queue" --project "The Nexus" --cross-project',), "answer"),
        Operation("stale",
            "List active decisions that nobody validated lately, and those whose dependencies ended.",
            "forgekit.queries:stale_decisions",
            (Argument("days", Type.COUNT, "Not validated for this many days."),
                Argument("hops", Type.COUNT, "Left out by this many compressions in a row."),
                Argument("max_tier", Type.SHARE, "Only decisions of this tier or below."), _PROJECT),
            ("forgekit stale", "forgekit stale --days 14 --max-tier 0.7 --json"), "stale"),
        Operation("explain", "List the decisions and conventions in force that govern files.",
            "forgekit.governing:explain",
            (Argument("paths", help="A file; relative to the working folder.", metavar="[PATH]...",
                    positional=True, many=True),
                Argument("diff", help="The files that changed between two revisions, too.",
                    metavar="BASE..HEAD")),
            ("forgekit explain src/api/routes.py", "forgekit explain --diff main..HEAD --json"), "explained",
            more="A decision governs what the path patterns and components of its `governs` cover, "
                "a convention what those of its `scope` cover. Decisions in conflict come first."),
        Operation("trace", "Show which conversations a conversation came from, and which continue it.",
            "forgekit.lineage:trace_from",
            (_id("conversation", name="conversation"),
                Argument("direction", Type.CHOICE, "Which way to follow the edges.",
                    of=("both", "ancestors", "descendants"), default="both")),
            ("forgekit trace con_9c2f7be01d44 --direction ancestors",), "trace"),
        Operation("bridge", "Say what changed between two conversations that lineage joins.",
            "forgekit.lineage:bridge_between",
            (_id("conversation", name="source"),
                _id("conversation", name="target")),
            ("forgekit bridge con_1f0a5d9e3b21 con_9c2f7be01d44",), "bridge"),
        Operation("show", "Show one entity of any kind.", "forgekit.queries:show", (_id(), _REVISION),
            ("forgekit show dec_b34bfcd74276", "forgekit show TOPIC_A_RESULT:D003 --json"), "shown"),
        Operation("history", "Show the commits that touched one entity, newest first.",
            "forgekit.queries:history", (_id(), _ALL),
            ("forgekit history dec_b34bfcd74276", "forgekit show dec_b34bfcd74276 --at COMMIT"), "commits"),
        Operation("log", "Show what changed in the registry, newest first.", "forgekit.history:log",
            (_LIMIT, Argument("since", Type.DATE, "No older ones.")),
            ("forgekit log --limit 5", "forgekit log --since 2026-03-01 --json"), "commits"),
    ),
    *_section(
        "Change",
        *_reading("project"),
        _writing("project new", "Register a project.", "forgekit.projects:create",
            (_positional("name"), _CONTENT._replace(help="What it is about, Markdown."), _TAGS),
            ('forgekit project new "The Nexus"',)),
        _edit("project", "forgekit.projects:describe", '--content "A message bus for vehicles"', _CONTENT,
            _NEW_TAGS),
        *_reading("conversation"),
        _writing("conversation new", "Register a conversation.", "forgekit.lineage:new_conversation",
            (_positional("title"), _PROJECT,
                Argument("external_id", help="The platform's own id of it.", metavar="UUID"), _AT),
            ('forgekit conversation new "Storage layer" --project "The Nexus" --at 2026-03-04T10:00Z',)),
        _edit("conversation", "forgekit.projects:describe", '--project "The Nexus"', _TITLE, _CONTENT,
            _PROJECT._replace(help="Its project; its text, lineage and waiting candidates move along, "
                "its decisions and threads stay in theirs."), _NEW_TAGS),
        *_reading("thread"),
        _writing("thread new", "Register a thread.", "forgekit.threads:create",
            (_positional("title", Type.STATEMENT, "The question, one line; `-` reads standard input."),
                _PROJECT, _CONTENT, _PRIORITY, _BLOCKED_BY,
                Argument("local_id", help="What the conversation calls it.", metavar="T001"), _CONVERSATION,
                _TAGS, _AT), ('forgekit thread new "Which queue?" --project "The Nexus" --priority high',)),
        _ending("resolve", "resolved", "Mark a thread as answered.", "NATS, see D004"),
        _ending("abandon", "abandoned", "Mark a thread that nobody will answer.", "the customer left"),
        _ending("supersede", "superseded", "Mark a thread that another thread replaces.",
            "continued as thr_001122334455"),
        _writing("thread reopen", "Open a thread again.", "forgekit.threads:update",
            (_id("thread"), _CONVERSATION, _AT), ("forgekit thread reopen thr_5a6b7c8d9e0f",),
            fixed=(("status", "open"),)),
        _edit("thread", "forgekit.threads:update", "--priority high", _TITLE, _PRIORITY, _CONTENT,
            _BLOCKED_BY._replace(help=_INSTEAD, replaces=True), _NEW_TAGS),
        *_reading("decision"),
        _writing("decision new", "Register a decision.", "forgekit.decisions:create",
            (_STATEMENT, _RATIONALE, _CONTEXT, _TIER, _PROJECT, _DEPENDS_ON, _REJECTED, _GOVERNS,
                Argument("local_id", help="What the conversation calls it.", metavar="D001"), _CONVERSATION,
                _TAGS, _AT,
                Argument("again", Type.FLAG, "Register a text that an active decision of the project has.")),
            ('forgekit decision new "Use UUID v7 for all resource IDs" --tier 0.85 --rationale "Sortable"',)),
        _writing(
            "decision revise", "Replace a decision's text by a new decision; the old one is kept as revised.",
            "forgekit.decisions:revise",
            (_id("decision"), _STATEMENT,
                _RATIONALE._replace(help="Why, Markdown (default: the old one)."),
                _CONTEXT._replace(help="Under which circumstances, Markdown (default: the old ones)."),
                _TIER, _CONVERSATION, _AT),
            ('forgekit decision revise dec_b34bfcd74276 "Use UUID v8 for all resource IDs"',)),
        _writing("decision validate", "Confirm that a decision still holds.", "forgekit.decisions:validate",
            (_id("decision"), _TIER, _AT), ("forgekit decision validate dec_b34bfcd74276 --tier 0.9",)),
        _writing("decision supersede", "Replace a decision by another registered decision.",
            "forgekit.decisions:supersede",
            (_id("decision"),
                Argument("by", Type.ID, "The decision that replaces it.", of=("decision",), required=True),
                _REASON._replace(help="Why, Markdown.", required=False)),
            ("forgekit decision supersede dec_b34bfcd74276 --by dec_0a1b2c3d4e5f",)),
        _writing("decision invalidate", "End a decision because it was found wrong.",
            "forgekit.decisions:invalidate", (_id("decision"), _REASON._replace(help="Why, Markdown.")),
            ('forgekit decision invalidate dec_b34bfcd74276 --reason "the benchmark was wrong"',)),
        Operation("decision duplicates", "List pairs of active decisions that say the same.",
            "forgekit.findings:of_project", (_PROJECT,),
            ('forgekit decision duplicates --project "The Nexus"',), "duplicates"),
        _edit("decision", "forgekit.decisions:edit", "--tier 0.9 --tag storage", _RATIONALE, _CONTEXT, _TIER,
            _REJECTED._replace(help=_INSTEAD, replaces=True),
            _DEPENDS_ON._replace(help=_INSTEAD, replaces=True),
            _GOVERNS._replace(help=_INSTEAD, replaces=True), _NEW_TAGS),
        *_reading("lineage"),
        _writing("lineage new", "Register that TARGET continues SOURCE under a compression tag.",
            "forgekit.lineage:link_named",
            (_id("conversation", name="source"),
                _id("conversation", name="target"),
                Argument("tag", help="The archive that was carried over.", metavar="TAG", required=True),
                Argument("mode", Type.CHOICE, "How it was compressed.", of=("lossless", "lossy", "partial")),
                Argument("compressed_at", Type.DATE, "When it was compressed."),
                Argument("summary", help="What changed on the way, Markdown."),
                Argument("carried", Type.ID, "A decision or thread carried; repeatable.",
                    of=("decision", "thread"), many=True),
                Argument(
                    "dropped", Type.ID, "A decision left behind; repeatable.", of=("decision",), many=True),
                Argument("resolved", Type.ID, "A thread that ended on the way; repeatable.", of=("thread",),
                    many=True)),
            ("forgekit lineage new con_1f0a5d9e3b21 con_9c2f7be01d44 --tag STORAGE_LAYER_RESULT",)),
        _edit("lineage", "forgekit.projects:describe", '--summary "The queue was chosen on the way"',
            _CONTENT._replace(help="What changed on the way.", option="--summary")),
        *_reading("conflict"),
        Operation(
            "conflict scan", "Judge the pairs of active decisions and list what contradicts; writes nothing.",
            "forgekit.findings:of_project",
            (_PROJECT, Argument("possible", Type.FLAG, "List possible conflicts too.", printing=True)),
            ("forgekit conflict scan", 'forgekit conflict scan --project "The Nexus" --possible'), "scanned"),
        _writing("conflict new", "State that two decisions cannot both be followed.",
            "forgekit.conflicts:create",
            (_id("decision"), _id("decision", name="other"),
                Argument("nature", help="What they disagree on.")),
            ('forgekit conflict new dec_0a1b2c3d4e5f dec_b34bfcd74276 --nature "how long logs are kept"',)),
        _writing("conflict resolve", "Keep one side of a conflict; the other is superseded.",
            "forgekit.conflicts:resolve",
            (_id("conflict", "decision"),
                Argument("keep", Type.ID, "The side to keep.", of=("decision",), required=True), _REASON),
            ('forgekit conflict resolve cfl_0d1e2f3a4b5c --keep dec_b34bfcd74276 --reason "measured"',
                'forgekit conflict resolve dec_0a1b2c3d4e5f --keep dec_b34bfcd74276 --reason "measured"')),
        _writing("conflict scope", "Keep both sides, each in the scope that the reason states.",
            "forgekit.conflicts:settle", (_id("conflict"), _REASON),
            ('forgekit conflict scope cfl_0d1e2f3a4b5c --reason "REST outside, gRPC between services"',),
            fixed=(("status", "scoped"),)),
        _writing("conflict dismiss", "State that the two decisions do not contradict each other.",
            "forgekit.conflicts:settle", (_id("conflict"), _REASON),
            ('forgekit conflict dismiss cfl_0d1e2f3a4b5c --reason "one is about tests"',),
            fixed=(("status", "dismissed"),)),
        Operation("convention list", "List conventions and where each stands.",
            "forgekit.conventions:listed",
            (_PROJECT, Argument("status", Type.CHOICE, "Only this stage.", of=STATUSES["convention"])),
            ("forgekit convention list --status ready",), "conventions"),
        Operation("convention status", "Show the conventions of a project on one screen.",
            "forgekit.conventions:overview", (_PROJECT,), ("forgekit convention status",),
            "convention_status"),
        *_reading("convention")[1:],
        _writing("convention new", "Register a convention; it is active at once.",
            "forgekit.conventions:create",
            (_positional("text", Type.STATEMENT, "The convention, one line; `-` reads standard input."),
                Argument("anti_pattern", Type.FLAG, "It says what not to do."), _SCOPE, _PROJECT,
                _CONVERSATION, _TAGS, _AT), ('forgekit convention new "Run tests with `make test`"',)),
        _writing("convention bootstrap", "Propose what the configuration files of a project state.",
            "forgekit.conventions:bootstrap",
            (_PROJECT, Argument("folder", Type.PATH, "In the project's repository.", metavar="DIR")),
            ("forgekit convention bootstrap",)),
        _writing("convention reset", "Delete the conventions of a project in one commit, after a question.",
            "forgekit.conventions:reset", (_PROJECT, Argument("yes", Type.FLAG, "Ask nothing.")),
            ("forgekit convention reset",)),
        _answering("approve", "active", "Make conventions active, decayed ones too."),
        _answering("reject", "rejected", "Reject proposed conventions; they are not suggested again."),
        _answering("retire", "retired", "End active conventions."),
        _writing("convention merge", "State that a convention says the same as another one.",
            "forgekit.conventions:merge", (_id("convention"), _id("convention", name="into")),
            ("forgekit convention merge cnv_b34bfcd74276 cnv_0a1b2c3d4e5f",)),
        _edit("convention", "forgekit.conventions:edit", '--text "Run tests with `make test`"',
            Argument("text", help="A new text; the old one is kept as revised."),
            Argument("form", Type.CHOICE, "What it asks for.", of=("convention", "anti-pattern")),
            _SCOPE._replace(help=_INSTEAD, replaces=True), _NEW_TAGS),
        Operation("convention inject", "Write the active conventions into a file that agents read.",
            "forgekit.injection:inject",
            (Argument("target", Type.CHOICE, "The file.", of=("CLAUDE.md", "AGENTS.md"), default="CLAUDE.md"),
                _PROJECT,
                Argument("check", Type.FLAG, "Write nothing; exit status 1 where something would change.")),
            ("forgekit convention inject", "forgekit convention inject --target AGENTS.md --check"),
            "injected",
            more="In the repository of the working folder; nothing outside forgekit's marks changes. What "
            "several files of one folder are evidence of goes to `.claude/rules/`."),
        *_reading("archive"),
        _FILE_ARCHIVES._replace(name="archive new", examples=("forgekit archive new archive.md",)),
        *_reading("note"),
        _writing("note add", "Keep a note.", "forgekit.notes:add",
            (Argument("file", Type.PATH, "Markdown; `-` reads standard input.", metavar="[FILE|-]",
                    positional=True), _TITLE._replace(help="Its title (default: its first heading or line)."),
                _PROJECT, _TAGS, _AT),
            ("forgekit note add idea.md --tag storage", 'pbpaste | forgekit note add --title "Backups"')),
        _writing("note threads",
            "List the topics (threads of thought) and how they would change; `apply` changes them.",
            "forgekit.upkeep.maintain:note_threads",
            (Argument("action", Type.CHOICE, metavar="[apply]", of=("apply",), positional=True),),
            ("forgekit note threads", "forgekit note threads apply"))._replace(view="note_threads"),
        _edit("note", "forgekit.notes:edit", '--title "Backups, again"', _TITLE,
            _CONTENT._replace(help="The whole text, Markdown."), _NEW_TAGS),
    ),
    *_section(
        "Coding agents",
        _of_session("compaction status", "Show how near a session is to a compaction, and what is kept.",
            "forgekit.agent_sessions:status", _SESSION,
            ("forgekit compaction status", "forgekit compaction status --transcript session.jsonl --json"),
            "compaction_status"),
        _of_session("compaction preserve", "Bring what is kept of a session up to date.",
            "forgekit.agent_sessions:preserve",
            (Argument("level", Type.CHOICE, "How thorough: extended lets the reader read the new turns, full "
                    "all turns.", of=("critical", "extended", "full"), default="extended"), *_SESSION),
            ("forgekit compaction preserve --level full",), "compaction_status"),
        _of_session("compaction restore", "Print what a compaction's summary does not hold.",
            "forgekit.agent_sessions:restore",
            (Argument("depth", Type.CHOICE, "How far back.", of=("recent", "session", "full"),
                    default="recent"), *_SESSION,
                Argument("budget", Type.COUNT, "Room for the block.", metavar="CHARACTERS", least=2_000)),
            ("forgekit compaction restore", "forgekit compaction restore --depth full"), "block"),
        _of_session("compaction report", "Measure what the compactions of transcripts left of each session.",
            "forgekit.survival_report:report",
            (_positional("transcripts", Type.PATH, metavar="TRANSCRIPT...", many=True),),
            ("forgekit compaction report ~/.claude/projects/*/*.jsonl --json",), "compaction_report"),
        _of_session("handoff", "Print what a session did, to begin the next one with.",
            "forgekit.agent_sessions:restore", _SESSION, ("forgekit handoff | pbcopy",), "block",
            fixed=(("depth", "session"), ("summary", ""))),  # the next session has no summary
        _of_session("statusline", "Print one line on a session's context, of a status line's JSON on stdin.",
            "forgekit.agent_sessions:status_line", (), ("forgekit statusline",)),
    ),
    *_section(
        "Keep in order",
        Operation(
            "init", "Make a folder a registry: settings, folders, one commit. A second time changes nothing.",
            "forgekit.upkeep.init_migrate:initialise",
            (Argument("folder", Type.PATH, metavar="[DIR]", positional=True),),
            ("forgekit init", "forgekit init ~/registry"), "initialised", writes=True,
            more="Outside a git repository, the folder becomes one. A registry of an older schema is brought "
                "to the present one in one commit."),
        Operation("sync",
            "Fetch, merge and push the branch; what two clones changed in different ways is kept and named.",
            "forgekit.sharing:sync",
            (Argument("dry_run", Type.FLAG, "Fetch, print the diff, merge and push nothing."),),
            ("forgekit sync", "forgekit sync --dry-run"), "synced",
            more="The remote is the branch's upstream, else `origin`. Nothing is ever forced. Exit status 1 "
            "where a person has something to choose."),
        Operation("check",
            "Check the registry's files, or some of them; exit status 1 when something must be fixed.",
            "forgekit.upkeep.check:check",
            (Argument("paths", Type.PATH, metavar="[PATHS]...", positional=True, many=True),
                Argument("fix", Type.FLAG, "Fix what needs no person, in one commit.")),
            ("forgekit check", "forgekit check registry/decisions/2026-03 --json",
                "forgekit check --fix --dry-run"), "checked", writes=True),
        _writing("maintain",
            "Do what notes and conversations need: essences, topics, digests, the day's summary.",
            "forgekit.upkeep.maintain:maintain",
            (Argument("only", Type.CHOICE, "One step, even where nothing is due.",
                    of=("distil", "threads", "reconsolidate", "digests", "fidelity", "daily")),),
            ("forgekit maintain", "forgekit maintain --only distil --dry-run"))._replace(
            view="maintained", more="An interrupted run is finished by the next one. `reconsolidate` merges, "
            "splits, archives and wakes topics; `threads` takes new notes in as well. Topics change only by "
            "`forgekit note threads apply`, or with the setting `apply_topics`."),
        Operation("schedule", "Print a unit that runs `forgekit maintain` every hour.",
            "forgekit.upkeep.maintain:schedule",
            (_positional("system", Type.CHOICE, of=("systemd", "launchd", "cron")),),
            ("forgekit schedule systemd", "forgekit schedule cron")),
        _writing("daily", "Write a day's summary as a note: decided, opened, resolved, noted.",
            "forgekit.upkeep.maintain:daily",
            (Argument("date", Type.DATE, "The day (default: today, in UTC)."), _PROJECT),
            ("forgekit daily", "forgekit daily --date 2026-03-01")),
        Operation("doctor",
            "Look at git, files, settings, cache and machine; exit status 1 when something is damaged.",
            "forgekit.upkeep.doctor:diagnose",
            (Argument("repair", Type.FLAG, "Say what can be repaired."),
                Argument("yes", Type.FLAG, "Repair it, after a copy was saved.")),
            ("forgekit doctor", "forgekit doctor --repair", "forgekit doctor --repair --yes"), "diagnosed",
            more="`--repair` lists what it would repair and changes nothing; with `--yes` it saves a copy "
            "below `.git/forgekit-backups` and repairs it: what history holds is restored, what has two "
            "sides is left to you."),
        Operation("index build", "Bring the index of words and vectors up to date; `--force` makes it anew.",
            "forgekit.search:update_vectors", (Argument("force", Type.FLAG, "Delete it first."),),
            ("forgekit index build",), more="An interrupted build keeps the vectors that it has made."),
        Operation(
            "index status", "Say what the index holds and where it lies.", "forgekit.queries:index_status",
            (), ("forgekit index status",), "index_status"),
        Operation(
            "index verify", "Compare a sample of the vectors with new ones; exit status 1 when one differs.",
            "forgekit.search:verify", (Argument("sample", Type.COUNT, "How many.", default=64),),
            ("forgekit index verify",), "index_verified"),
        Operation(
            "model install", "Fetch the embedding model, check its files, and put it into your data folder.",
            "forgekit.models.install:install", (), ("forgekit model install",), "models"),
        Operation("model list", "List the embedding models that are found, and where.",
            "forgekit.models.install:installed", (), ("forgekit model list",), "models"),
        Operation("model remove", "Delete the embedding model from your data folder.",
            "forgekit.models.install:remove", (), ("forgekit model remove",), "models"),
        Operation(
            "export", "Write the registry in another format to stdout.", "forgekit.upkeep.export:export",
            (Argument("form", Type.CHOICE, "The format.", "--format",
                    of=("json", "jsonl", "csv", "markdown", "html", "madr", "mermaid"),
                    default="json"), _PROJECT),
            ("forgekit export --format jsonl > registry.jsonl", "forgekit export --format mermaid")),
        Operation("template", "Print an archive to fill in.", "forgekit.briefing.template:template",
            (_positional("kind", Type.CHOICE, of=("archive",)),),
            ("forgekit template archive > archive.md",)),
        Operation("demo-data", "Write sample archives and transcripts into a folder, to try forgekit with.",
            "forgekit.upkeep.init_migrate:write_demo_data",
            (_positional("folder", Type.PATH, metavar="DIR"),), ("forgekit demo-data samples",)),
        Operation(
            "hook", "Run one hook on the files that are to be committed; exit status 1 stops the commit.",
            "forgekit.hooks.pre_commit:run",
            (_positional("hook", Type.CHOICE, metavar="NAME",
                of=("check", "conflicts", "stale", "archives", *OF_AGENTS)),
                Argument("files", metavar="[FILES]...", positional=True, many=True)),
            ("forgekit hook check registry/decisions/2026-03/*.md", "forgekit hook archives",
                "forgekit hook claude-code session-start"),
            more="NAME EVENT of a coding agent is what that agent runs: it reads the event from standard "
            "input, prints what the agent should know, and never fails. `forgekit setup` installs it."),
        Operation("setup", "Add forgekit's hooks and MCP server to a coding agent's own settings.",
            "forgekit.hooks.setup:setup",
            (_positional("agent", Type.CHOICE, metavar="AGENT", of=OF_AGENTS),
                Argument("project", Type.FLAG,
                    "In the files of the working folder, or in the user's (default).", "--project/--user"),
                Argument("remove", Type.FLAG, "Take out what an earlier call added."),
                Argument("dry_run", Type.FLAG, "Print the diff, write nothing.")),
            ("forgekit setup claude-code --dry-run", "forgekit setup cursor --project",
                "forgekit setup claude-code --remove"), "edits",
            more=f"AGENT is one of {', '.join(OF_AGENTS)}. All else in those files stays as it is. With "
            "`-C REGISTRY` the agent uses that registry, else the one that its folder belongs to."),
        Operation("merge-driver",
            "Merge one file of the registry for git; `forgekit init` registers this in a clone.",
            "forgekit.hooks.merge_driver:merge_driver",
            tuple(_positional(name, metavar=name.upper()) for name in ("base", "ours", "theirs", "path")),
            ("forgekit merge-driver %O %A %B %P",),
            more="The result is left in OURS; exit status 64 where a person has something to choose."),
        Operation("mcp", "Serve the registry to agents over MCP, on standard input and output.",
            "forgekit.mcp.server:serve",
            (Argument("allow_write", Type.FLAG, "Let tools such as record_decision write."),
                Argument("http", Type.COUNT, "Serve HTTP on a port of this machine; 0 takes a free one.",
                    metavar="PORT", least=0)),
            ("forgekit mcp", "claude mcp add forgekit -- forgekit -C REGISTRY mcp --allow-write"),
            more="Needs the extra: `pip install forgekit[mcp]`. Without --allow-write or the setting "
            "`mcp_write` what an agent records waits for `forgekit review`. HTTP wants the token that it "
            "prints, or that of FORGEKIT_MCP_TOKEN, as a bearer token."),
        Operation(
            "completion", "Print the shell script that completes commands, options, ids, projects and tags.",
            "forgekit.cli.maintenance:completion",
            (Argument("shell", Type.CHOICE, of=("bash", "zsh", "fish"), default="bash", positional=True),),
            ("forgekit completion bash > ~/.local/share/bash-completion/completions/forgekit",
                "forgekit completion zsh > ~/.zfunc/_forgekit",
                "forgekit completion fish > ~/.config/fish/completions/forgekit.fish")),
    ),
)


# fmt: on


def sections() -> dict[str, list[str]]:
    """Return the headings with their commands and nouns, in the order of the table."""
    found: dict[str, list[str]] = {}
    for operation in OPERATIONS:
        names = found.setdefault(operation.section, [])
        first = operation.name.partition(" ")[0]
        if first not in names:
            names.append(first)
    return found


def verbs(noun: str) -> list[str]:
    """Return the verbs of a noun, in the order of the table."""
    return [verb for first, _, verb in (o.name.partition(" ") for o in OPERATIONS) if first == noun and verb]


def imported(target: str) -> Any:
    """Return what `module:name` names, such as the function of an operation."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def operation_named(name: str) -> Operation:
    """Return an operation by its full name.

    Raises KeyError.
    """
    for operation in OPERATIONS:
        if operation.name == name:
            return operation
    raise KeyError(name)
