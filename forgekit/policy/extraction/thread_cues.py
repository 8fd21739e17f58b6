"""The cues of threads, as data: left open, waiting for something, done, given up."""

from __future__ import annotations

from forgekit.policy.extraction.cue import USER, Cue, cue
from forgekit.policy.extraction.find import FindKind

OPEN, RESOLVED, BLOCKED, ABANDONED = (
    FindKind.THREAD_OPEN,
    FindKind.THREAD_RESOLVED,
    FindKind.THREAD_BLOCKED,
    FindKind.THREAD_ABANDONED,
)
_MATTER = (
    r"(?:threads?|questions?|issues?|tickets?|topics?|points?|items?|matters?|problems?|tasks?|bugs?"
    r"|discussions?|debates?|mystery|story|dispute|concerns?|blockers?|todos?|claims?|investigation)"
)
_DONE = (
    r"(?:settled|resolved|closed|solved|sorted(?: out)?|answered|cleared up|dealt with|taken care of"
    r"|off the list|done|figured out|finished|fixed|behind us|wrapped up|decided|over)"
)
_QUESTION = r"(?:who|what|which|whether|how|where|when|why|if)\b"

THREAD_CUES: tuple[Cue, ...] = (
    # Open.
    cue(
        OPEN,
        "said to be open",
        "open unresolved undecided tbd pending outstanding unclear unanswered unsettled unsolved"
        " undetermined remaining remains",
        r"\A(?P<head>(?:(?:what(?:'s| is)|one|two|a few|the|things?|only|main|biggest|another|big|some|other"
        r"|also|and|but|that) ){0,4}(?:still |left |remaining |yet |currently )?(?:open|unresolved|undecided"
        r"|tbd|pending|outstanding|unclear|unanswered|unsettled|to do|left to do"
        r"|to be decided)(?: (?:questions?|points?|issues?|items?|threads?|topics?|things?|is|are|for now"
        r"|remains?|tasks?|actions?)){0,2} ?(?:: ?|[\u2014\u2013] ?|- |is |are ))(?=\S)",
        0.85,
    ),
    cue(
        OPEN,
        "said to be open",
        "open unresolved undecided tbd unclear unanswered unsettled air determined decided",
        r"\b(?:is|are|'s|remains?|stays?|left) (?:still |currently |as yet |yet |all "
        r"|very much )?(?:an? )?(?:open[.!]?\Z|open (?:question|issue|point|thread|item|for now|until)"
        r"|unresolved|undecided|tbd\b|unanswered|unsettled|up in the air|to be (?:decided|determined"
        r"|clarified|confirmed)|to be seen|not (?:yet )?(?:decided|settled|resolved|clear yet|agreed))"
        r"|\bleaves? .{2,80} open\b|\bleaves (?:us with )?the question|\bstill (?:unresolved|undecided|tbd"
        r"|to be decided|unsettled|unclear (?=who|what|which|whether|how|where|when|why))",
        0.8,
    ),
    cue(
        OPEN,
        "a line labelled as open",
        "todo tbd next up question questions offen action follow-up followup open steps step thread threads",
        r"\A(?P<head>(?:todo|tbd|to-do|next(?: up)?(?=:)|(?:the )?next steps?(?: (?:is|are|here|for (?:me|us"
        r"|tomorrow)))?|open (?:question|thread|point|issue|item)s?|action items?|follow-?ups?"
        r"|offen(?:e frage| bleibt)?|noch offen)(?: \(?\d{1,2}\)?)? ?(?:: ?|[\u2014\u2013] ?| - |(?<=is) "
        r"|(?<=are) ))(?=\S)",
        0.8,
    ),
    cue(
        OPEN,
        "somebody does not know yet",
        "yet still decided figured worked settled chosen agreed",
        r"\b(?:i|we|nobody|no one)(?:'ve|'re|'m)?(?: still| really| honestly| just){0,2} (?:(?:do|have"
        r"|has)(?:n't| not)|(?:am |are )?not|has)(?: yet| really| fully| quite){0,2} (?:(?:decided"
        r"|figured out|worked out|settled|chosen|agreed)"
        rf"(?: yet| on| about){{0,2}} (?:{_QUESTION}|yet\b)|(?:decided|settled|agreed) (?:on|about) "
        r"|(?:know|knows|sure|certain|clear|decided|chosen|settled)(?: about)? yet\b)|\b(?:i"
        r"|we) still (?:don't|do not|haven't|have not) (?:know|decided?|agreed?|settled?|figured? out|chosen"
        r"|picked)\b|\b(?:i|we)(?:'ve)? (?:don't|do not|haven't|have not) yet (?:know|decided|agreed|settled"
        r"|figured out|chosen)",
        0.75,
        said_by=USER,
    ),
    cue(
        OPEN,
        "still to be decided or done",
        "need needs have has must to still figure decide needed",
        r"\b(?<!how much )(?<!what )(?:we|i|someone|somebody|it|that|this|which"
        r"|they)(?:'ll)? (?:still (?:need to|needs to|have to|has to|must|gotta|need)\b(?! (?:do for"
        r"|figure myself))|(?:will )?(?:need|needs|have|has) (?:to )?(?:still )?(?:figure out|decide (?:on"
        r"|whether|who|how|what|which|when|where)|work out|settle|come back to|revisit|sort out|clarify"
        r"|find out))\b(?! be (?:running|working))",
        0.7,
        said_by=USER,
    ),
    cue(
        OPEN,
        "still to be decided, by both",
        "still",
        r"\bwe still (?:need|have) to (?:work out|decide|figure out|settle|clarify|agree|choose|pick"
        r"|find out|find|sort out)\b",
        0.7,
    ),
    cue(
        OPEN,
        "still missing",
        "still yet missing lacks",
        r"\b(?:we|i|there|it) (?:still (?:have|has|is|are|lack)|(?:have|has|is"
        r"|are) still) (?:got )?no (?:\w+ ){1,5}(?:for|where|to|who|that|yet|about|how|in|on)\b|\b(?:is"
        r"|are) still (?:missing|to come|to do|needed|outstanding)\b|\bstill (?:missing|to do|outstanding"
        r"|needed|left)\b ?: ?|\b(?:should|must|need to|have to) still \w+|\bwe (?:haven't|have not) (?!seen"
        r"|heard|met|used|noticed|figured|decided)\w.{2,60} yet\b|\b(?:is|are)(?:n't| not) (?:done|ready"
        r"|finished|complete|sorted|written|paid|booked|signed) yet\b",
        0.65,
        said_by=USER,
    ),
    cue(
        OPEN,
        "put off till later",
        "later revisit another tomorrow next park parking pick back",
        r"\b(?:come back to|revisit|return to|park|think about|pick (?:this|that|it) up|deal with"
        r"|look (?:into|at)|decide|discuss|talk about|figure out) (?:\w+ ){0,6}(?:later|another (?:time|day)"
        r"|next (?:week|time|month|session|meeting|sprint|year)|tomorrow|for now|down the road"
        r"|some other time|at the next meeting)\b",
        0.65,
        said_by=USER,
    ),
    cue(
        OPEN,
        "put off to something else",
        "deferred postponed left defer follow-up followup separate leave leaving",
        r"\b(?:(?:is|are|was|were|been|be|now) |\A)?(?:deferred|postponed|left) (?:to|for|until|till) (?:a "
        r"|the |an? )?(?:later|follow-?up|separate|next|future|another|PR\b|v\d|[A-Z]{2,6}-\d+|after|phase"
        r"|version|spring|summer|autumn|winter)|\b(?:i|we)(?:'ll|'ve| will| have)? (?:defer|deferred|left"
        r"|leave|leaving) (?:that|this|it|the [\w -]{1,40}) (?:to|for|until) (?:a |the )?(?:later|follow-?up"
        r"|separate|next|future|another)",
        0.65,
    ),
    cue(
        OPEN,
        "somebody has to find out",
        "find ask whether remind forget confirm clarify",
        rf"\b(?:(?:someone|somebody|i|we) (?:still )?(?:has|have|needs?|must|should) (?:to )?(?:find out|ask"
        rf"|confirm|clarify)"
        rf" (?:.{{0,40}}?\b(?:{_QUESTION}|about)|(?:the|our|my) \w)|(?<!they )(?<!always )\bremind me to \w"
        rf"|don't let me forget \w)",
        0.6,
        said_by=USER,
    ),
    cue(
        OPEN,
        "German, French or Spanish: open",
        "offen ungekl\u00e4rt gekl\u00e4rt entschieden unklar pendiente pendientes reste restent ouverte"
        " falta faltan savoir d\u00e9cid\u00e9",
        r"\b(?:(?:bleibt|ist|sind|noch|bleiben)(?: noch)? (?:offen|ungekl\u00e4rt|unklar)"
        r"|noch nicht (?:gekl\u00e4rt|entschieden)|(?:queda|quedan|est\u00e1|est\u00e1n|sigue"
        r"|siguen) (?:por \w+|pendientes?)|pendiente:|falta(?:n)? (?:por )?decidir|(?:reste"
        r"|restent) (?:\u00e0|ouverte?s?)|question ouverte|pas encore (?:d\u00e9cid\u00e9|choisi))",
        0.75,
    ),
    cue(
        OPEN,
        "Japanese or Chinese: open",
        "\u672a \u672a\u5b9a \u6c7a \u5f85 \u8fd8",
        r"\u307e\u3060\u6c7a\u307e\u3063\u3066|\u672a\u5b9a|\u672a\u6c7a|\u672a\u89e3\u6c7a|\u5f85\u5b9a"
        r"|\u8fd8\u6ca1(?:\u6709)?\u51b3\u5b9a|\u9084\u6c92(?:\u6709)?\u6c7a\u5b9a",
        0.75,
    ),
    # Blocked.
    cue(
        BLOCKED,
        "said to be blocked",
        "blocked blocker stuck hold stalled paused frozen",
        r"(?:\A|\b(?:is|are|'s|'re|'m|am|be|still|currently|remains?|stays?|goes|put|now) )(?:still |now "
        r"|currently |all |completely |also |totally )?(?:blocked (?:by|on|until|because|while)(?! the hook)"
        r"|stuck (?:on|until|because|waiting)|on hold|stalled|paused until|frozen until|blocked[.!]?\Z"
        r"|blockers? ?:)",
        0.75,
    ),
    cue(
        BLOCKED,
        "waiting for something",
        "waiting awaiting depends hinges heard answer reply response",
        r"(?:\A|\b(?:is|are|'s|'re|'m|am|still|all) )(?:still |now |all |both )?(?:waiting (?:for|on)"
        r"|awaiting)\b(?! (?:you|it|the (?:tests?|build|command|output|result|agent|process|page))\b)"
        r"|\b(?:haven't|have not|not) heard back|\bno (?:answer|reply|response|word) (?:yet )?from"
        r"|\bhaven't (?:had|got) (?:an answer|a reply)|\b(?:that|this|it|everything"
        r"|the \w+(?: \w+)?) (?:depends|hinges) on (?:whether|when|what \w+ (?:says|decides|answers))",
        0.7,
        said_by=USER,
    ),
    cue(
        BLOCKED,
        "cannot go on until",
        "until before wait first",
        r"\b(?:can't|cannot|can not|unable to|won't be able to|not able to|nothing (?:can|happens"
        r"|moves)) (?:\w+ ){0,6}(?:until|before)\b|\b(?:has|have|needs?) to wait (?:for|until|till)\b"
        r"|\bwe need .{2,60} before (?:we|i|anyone) can\b|\buntil .{2,60} (?:we|i|nobody|nothing) (?:can't"
        r"|cannot|can)\b|\bneeds? .{2,40} (?:sign-?off|approval|permission|answer|reply|confirmation"
        r"|review) (?:first|before)\b",
        0.7,
        said_by=USER,
    ),
    cue(
        BLOCKED,
        "German, French or Spanish: blocked",
        "blockiert wartet warten bloqu\u00e9 bloqu\u00e9e attend attendons bloqueado bloqueada espera"
        " esperando",
        r"\b(?:blockiert (?:durch|von|bis)|(?:ist|sind) blockiert|wart(?:et|en|e) (?:noch )?auf"
        r"|bloqu\u00e9e? (?:par|tant|jusqu)|(?:on |nous )?attend(?:ons)? (?:que|la|le|les)"
        r"|bloquead[oa] (?:por|hasta)|(?:a la espera|esperando) (?:de|a|la|el))\b",
        0.75,
    ),
    # Resolved.
    cue(
        RESOLVED,
        "said to be settled",
        "settled resolved closed solved sorted answered cleared dealt care done figured finished fixed"
        " wrapped behind decided over off",
        rf"\b(?:{_MATTER}|T\d{{3,4}})(?: (?:of|about|with|on|around|over|regarding) [^,.:;]{{1,60}}?"
        rf"| T?#?\d{{1,4}})? "
        rf"(?:is|are|was|got|has been|have been|can be|'s)(?: now| finally| already| all| thus| officially"
        rf"| therefore)?"
        rf" {_DONE}\b(?! (?:by|with|when|if|once)\b)",
        0.8,
    ),
    cue(
        RESOLVED,
        "said to be settled",
        "settles resolves closes solves answers close closed resolved solved settled sorted",
        rf"\b(?:that|this|which|it) (?:finally |also |now )?(?:settles|resolves|closes|solves|answers"
        rf"|concludes|wraps up)"
        rf" (?:it\b|that\b|the\b|our\b|my\b)(?: [\w'/-]+){{0,5}}?"
        rf"|\b(?:we|i|you)(?:'ve)? (?:can|could finally|have|finally|just) (?:now |finally )?(?:close|closed"
        rf"|settled|resolved"
        rf"|solved|sorted out|figured out|tick off|cross off) (?:the|that|this|our|T\d"
        rf"|#)\b(?: [\w'/-]+){{0,5}}? ?"
        rf"(?:{_MATTER}|T?#?\d{{1,4}}|off the list)\b",
        0.65,
        said_by=USER,
    ),
    cue(
        RESOLVED,
        "labelled as resolved",
        "fixed resolved solved closed settled gekl\u00e4rt erledigt resuelto r\u00e9solu",
        r"\A(?P<head>(?:resolved|fixed|solved|closed|settled|gekl\u00e4rt|erledigt|resuelto|r\u00e9solu)"
        r"(?: (?:questions?|threads?|issues?|points?))? ?: ?)(?=\S)",
        0.75,
    ),
    cue(
        RESOLVED,
        "German, French or Spanish: resolved",
        "gekl\u00e4rt erledigt gel\u00f6st r\u00e9solu r\u00e9solue r\u00e9gl\u00e9 r\u00e9gl\u00e9e"
        " resuelto resuelta cerrado cerrada \u89e3\u6c7a",
        r"\b(?:(?:ist|sind|hat sich|haben sich)(?: damit| jetzt| nun| inzwischen)? (?:gekl\u00e4rt|erledigt"
        r"|gel\u00f6st)|est (?:enfin )?(?:r\u00e9solue?|r\u00e9gl\u00e9e?|close)|(?:est\u00e1"
        r"|queda) (?:resuelt[oa]|cerrad[oa]))\b",
        0.75,
    ),
    cue(
        RESOLVED,
        "somebody solved it",
        "figured solved sorted fixed resolved",
        r"\A(?:(?:i|we)(?:'ve| have)? )?(?:finally |just |now )?(?:figured out|solved|sorted out|fixed"
        r"|resolved) (?:the|that|this|our|my)\b",
        0.6,
        said_by=USER,
    ),
    cue(
        RESOLVED,
        "sorted, in a word",
        "sorted settled done solved resolved booked paid signed filed finished",
        r"\A(?!(?:all|both|everything|tests?|done|i|build|what|when|who|if|which|the (?:build|command"
        r"|test)) )(?:the |our |my )?[^,.:;]{2,60}? (?:is|are|'s|has been|have been|got) (?:now |finally "
        r"|all |already )?(?:sorted(?: out)?|settled|solved|resolved|cleared up|taken care of|done|finished"
        r"|filed|paid for|paid|signed|booked)(?! (?:by|in|into|alphabetically|on|with|to|when|if|as|from"
        r"|\w+ly)\b)",
        0.65,
        said_by=USER,
    ),
    # Given up.
    cue(
        ABANDONED,
        "given up",
        "abandon abandoned abandoning drop dropped dropping shelve shelved shelving scrap scrapped scrapping"
        " obsolete moot happen happening gave giving give pursue bother pointless needed longer nevermind"
        " dead killed",
        r"\b(?:(?:is|are|makes?|becomes?|now) (?:now |therefore |the )?(?:[^,.:;]{1,60} )?(?:obsolete|moot"
        r"|pointless)\b(?! (?:code|function|test|file|line|doc|reference|comment))|(?:we|i)(?:'ve|'re|'m"
        r"| have| are| am)? (?:\w+ly )?(?:abandon(?:ed|ing)?|shelv(?:ed|ing)|gave up on|giving up on"
        r"|(?:won't|will not|no longer|not going to|don't) (?:pursue|bother|follow up)|stopped pursuing"
        r"|(?:'re|are) not pursuing)|(?:drop|dropping|dropped|scrap|scrapping|scrapped|shelve|abandon"
        r"|forget(?: about)?|park|kill|killed) (?:the|that|this|our|my) (?:[\w'-]+ ){0,5}(?:idea|thread|plan"
        r"|question|project|effort|experiment|investigation|topic|ticket|attempt|initiative|task|item)\b"
        r"|(?:was|were|is|are|has been|have been|been) (?:abandoned|shelved|scrapped|called off|given up)\b"
        r"|(?:won't happen|isn't happening|is not happening|not going to happen)\b|(?:is|are|'s) (?:dead\Z"
        r"|no longer (?:worth|pursued|on the table|planned)\b))",
        0.7,
    ),
    cue(
        ABANDONED,
        "no longer needed",
        "needed relevant",
        r"\b(?:is|are|'s) no longer (?:needed|relevant|necessary|an issue)\b",
        0.65,
        said_by=USER,
    ),
    cue(
        ABANDONED,
        "German, French or Spanish: given up",
        "verworfen aufgegeben hinf\u00e4llig abandonn\u00e9 abandonn\u00e9e abandonne descartado descartada"
        " abandonamos",
        r"\b(?:(?:ist|sind|wird|haben|wurde) (?:.{0,60}? )?(?:verworfen|aufgegeben|hinf\u00e4llig)|(?:est"
        r"|a \u00e9t\u00e9|avons) (?:.{0,40}? )?abandonn\u00e9e?|on abandonne|(?:queda|est\u00e1"
        r"|fue) descartad[oa]|abandonamos)\b",
        0.75,
    ),
)

OPEN_LABEL = (
    r"(?:(?:still|remaining|other|our|some|the|key|main|few|things|what's|what is|currently|and"
    r"|next) ){0,3}(?:open|open (?:questions?|threads?|points?|issues?|items?|topics?)|unresolved(?: \w+)?"
    r"|undecided|next steps?|to-?dos?|todo list|action items?|follow-?ups?|outstanding(?: \w+)?"
    r"|pending(?: \w+)?|still to (?:do|decide)|left to do|tbd|offene (?:fragen|punkte)|noch offen"
    r"|n\u00e4chste schritte|questions ouvertes|pendientes?|preguntas abiertas)(?: for [\w ,']{1,40})?"
)
BLOCKED_LABEL = (
    r"(?:currently |still )?(?:blocked(?: (?:by|on|items?|threads?))?|blockers?|waiting (?:for|on)|on hold)"
)
RESOLVED_LABEL = (
    r"(?:now |already |recently )?(?:resolved|closed|settled|solved)(?: (?:threads?|questions?|issues?"
    r"|points?|items?))?|erledigt|gekl\u00e4rt"
)
ABANDONED_LABEL = r"(?:abandoned|dropped|given up|shelved)(?: (?:threads?|ideas?|items?))?"
