"""The tools of the MCP server, each over one operation, with the schema of its arguments. Pure.

A tool offers some arguments of its operation under their names; types, choices and limits follow from the
operation's table. A description is written for a model that sees nothing else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from forgekit.mcp.answers import ANSWERS, Answer, Schema
from forgekit.model.entities import Proposal
from forgekit.operations import Argument, Operation, Type, operation_named

LONGEST = 16_000
"""Characters of one argument."""
LONGEST_ARCHIVE = 2_000_000
MOST = 100_000
PAGE = 20
"""Rows of an answer, where the caller names no number."""
PAGING = (
    Argument("limit", Type.COUNT, "At most this many.", default=PAGE),
    Argument("cursor", help="What the answer before named as `next`; leave it out at first."),
)
"""Of tools that list."""
WAITS = "It becomes a candidate that waits for the person's review: say so."
"""Of a tool that proposes."""
_HELP = {
    "query": "What to look for.",
    "question": "The question, in plain words.",
    "name": "Any name: id, short id such as `dec_b34bfcd74276`, `TAG:D003`, or title.",
    "conversation": "Any name of the conversation: id, short id, compression tag, title.",
}
"""Of arguments whose names say enough on a command line."""


class Tool(NamedTuple):
    """One tool.

    Attributes:
        name: as a model calls it.
        title: for people.
        description: one paragraph for a model.
        arguments: those of the operation's that are offered.
        proposes: as what a candidate is filed where writing is not allowed.
        own: arguments that the operation's command line has in another form.
        function: in the place of the operation's, where there are such.
    """

    name: str
    operation: str
    title: str
    description: str
    arguments: tuple[str, ...] = ()
    proposes: Proposal | None = None
    own: tuple[Argument, ...] = ()
    function: str = ""

    @property
    def behind(self) -> Operation:
        """The operation."""
        return operation_named(self.operation)

    @property
    def offered(self) -> tuple[Argument, ...]:
        """The arguments of the operation, in the order of the tool."""
        known = {argument.name: argument for argument in self.behind.arguments}
        return (*self.own, *(known[name] for name in self.arguments))

    @property
    def answer(self) -> Answer:
        """The form of what it answers."""
        return ANSWERS.get(self.operation) or ANSWERS[self.behind.view]

    @property
    def schema(self) -> Schema:
        """The JSON schema of the arguments."""
        offered = self.offered
        return {
            "type": "object",
            "properties": {
                argument.name: _schema(argument, LONGEST_ARCHIVE if argument in self.own else LONGEST)
                for argument in (*offered, *(PAGING if self.answer.rows else ()))
                if argument is not PAGING[0] or "limit" not in self.arguments
            },
            "required": [argument.name for argument in offered if argument.required],
            "additionalProperties": False,
        }


# fmt: off
TOOLS: tuple[Tool, ...] = (
    Tool("search", "search", "Search the registry",
        "Find recorded decisions, threads, conversations and archives by meaning and by word, best first. "
        "Use it before you propose or change something, to learn what was decided. Returns one row a hit "
        "with its short id, status and project; `get` returns the whole record.",
        ("query", "scope", "project", "status", "limit")),
    Tool("ask", "ask", "Ask why and what",
        "Answer a question such as `why did we choose X?`, `what is open?` or `what replaced D003?` from the "
        "registry, with the sources of each sentence. It looks up and never makes up; `found` is false where "
        "the registry does not know.", ("question", "project")),
    Tool("get", "show", "Get one record",
        "Return one decision, thread, conversation, archive or conflict with all its fields and where it "
        "came from.", ("name",)),
    Tool("context", "context", "Load context for a task",
        "Return what the registry knows about a subject as one block of text within a budget of tokens. Use "
        "it at the start of a task.", ("query", "project", "cross_project", "budget")),
    Tool("status", "status", "Show the state of the registry",
        "Return counts of decisions, open threads, conflicts, stale decisions and waiting candidates, by "
        "project."),
    Tool("explain", "explain", "List what governs files",
        "Return the decisions in force that govern files, by path patterns, those in conflict and stale ones "
        "first, and the conventions of which the scope covers them. Use it before you change a file.",
        ("paths", "diff")),
    Tool("trace", "trace", "Trace a conversation",
        "Return which conversations a conversation came from and which continue it.",
        ("conversation", "direction")),
    Tool("conflicts", "conflict list", "List contradictions",
        "List pairs of decisions in force that cannot both be followed: those that a person recorded, and "
        "those that the judge found, with level and probability. Tell the person of them; do not choose by "
        "yourself.",
        ("project", "status")),
    Tool("stale", "stale", "List stale decisions",
        "List decisions in force that nobody has validated for long, and those whose dependencies ended. Ask "
        "the person whether they still hold before you rely on one.", ("project", "days", "hops")),
    Tool("record_decision", "decision new", "Record a decision",
        "Register a choice that the person made or confirmed, in one sentence that can be understood alone, "
        "with its reason and what was rejected. The answer names each decision in force that it contradicts: "
        "tell the person at once. Do not record what is only proposed.",
        ("text", "rationale", "context", "tier", "project", "dependencies", "alternatives", "governs",
            "conversation"), Proposal.DECISION),
    Tool("revise_decision", "decision revise", "Revise a decision",
        "Put a new decision in the place of one that the person changed; the old one stays in its history.",
        ("name", "text", "rationale", "context", "tier", "conversation"), Proposal.DECISION),
    Tool("record_thread", "thread new", "Record an open question",
        "Register a question or task that was left open.", ("title", "content", "priority", "project"),
        Proposal.THREAD_OPEN),
    Tool("resolve_thread", "thread resolve", "Resolve a thread",
        "Mark an open question as answered, with how it ended.", ("name", "resolution", "conversation"),
        Proposal.THREAD_RESOLVED),
    Tool("file_archive", "sync-compression", "File an archive",
        "File the text that compressing a conversation produced, whole and unchanged, and register its "
        "decisions, threads and lineage. The answer names what of it could not be read and which decisions "
        "in force it contradicts. Filing it again changes nothing.",
        ("project", "tag", "at"),
        own=(Argument("text", help="The archive, as it was written.", required=True),),
        function="forgekit.filing.archives:file_text"),
    Tool("check_compaction_status", "compaction status", "Show how near a compaction is",
        "Return the tokens in use, the risk that the context is compacted soon (`occurred` just after one) "
        "and how much of the session is kept: requests, constraints, tasks, files, errors.", ("session",)),
    Tool("preserve_critical_context", "compaction preserve", "Keep what the session must not lose",
        "Bring what is kept of this session up to date, out of its transcript.", ("level", "session")),
    Tool("restore_compacted_context", "compaction restore", "Restore what a compaction lost",
        "Return what the session did and the summary of a compaction does not hold: the user's words, open "
        "tasks, files changed, failures and fixes. Use it after a compaction, or to look up earlier work.",
        ("depth", "session")),
)
# fmt: on


def tools(*, writing: bool) -> tuple[Tool, ...]:
    """Return the tools in their order: without writing, those that write propose, or are left out."""
    if writing:
        return TOOLS
    proposing = tuple(t._replace(description=f"{t.description} {WAITS}") if t.proposes else t for t in TOOLS)
    return tuple(tool for tool in proposing if tool.proposes or not tool.behind.writes)


def values_of(tool: Tool, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the operation's function takes, from arguments that fit the tool's schema."""
    values = ((argument, given.get(argument.name, argument.default)) for argument in tool.offered)
    return {a.name: tuple(value) if a.many else value for a, value in values if value is not None}


def _schema(argument: Argument, longest: int) -> Schema:
    found: Schema = {"type": "string", "minLength": 1, "maxLength": longest}
    match argument.type:
        case Type.COUNT:
            found = {"type": "integer", "minimum": argument.least, "maximum": MOST}
        case Type.SHARE:
            found = {"type": "number", "minimum": 0, "maximum": 1}
        case Type.CHOICE:
            found = {"type": "string", "enum": list(argument.of)}
        case Type.FLAG:
            found = {"type": "boolean"}
    if argument.many:
        found = {"type": "array", "items": found, "maxItems": 100}
    text = argument.help.partition(";")[0] or _HELP.get(argument.name, "")
    if text:
        found = {"description": text, **found}
    if argument.default is not None:
        found["default"] = argument.default
    return found
