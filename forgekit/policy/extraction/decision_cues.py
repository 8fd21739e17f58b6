"""The cues of decisions, as data: stated as made, or ordered by a person."""

from __future__ import annotations

from forgekit.policy.extraction.cue import USER, Cue, cue
from forgekit.policy.extraction.find import FindKind
from forgekit.policy.extraction.language_cues import LANGUAGE_CUES

_WHO = (
    r"\b(?:we(?: both| all)?|i|you(?: and i)?|everyone|everybody|(?:both|all|the two) of us|management"
    r"|(?:the|our) (?:\w+ )?(?:team|teachers?|neighbours?|neighbors?|group|board|committee|family|council"
    r"|client|customer|owners?|editors?|landlord|clinic|lab|crew|staff|maintainers|partners|band|panel|jury"
    r"|class|department|reviewers?|user|founders|investors|vet|doctor|school)|my (?:\w+ ){1,3}and i"
    r"|(?:[A-Z]\w+ )and i)"
)
_HAVE = (
    r"(?:'ve|'d)?(?: (?:have|has|just|already|finally|also|now|then|both|all|eventually|therefore|instead"
    r"|officially|together|unanimously|ultimately|collectively|definitely|jointly)){0,3}"
)
_TRIVIAL = (
    r"(?! (?:to )?(?:move on|continue|proceed|wait|look|investigate|check|start|stop here|try|see"
    r"|take a look|ask|share|write to you|test|explore|give|dig|let you|meet|talk|go (?:over|through"
    r"|back and|ahead)|(?:take|have|get) (?:a|some) (?:break|nap|rest|look|walk|coffee|sleep|shower"
    r"|day off))\b)"
)
_SWITCHING = (
    r"(?:mov|switch|migrat|dropp|keep|replac|adopt|standardi[sz]|cancell?|sell|buy|scrapp|abandon|postpon"
    r"|retir|consolidat|deprecat|cutt|paint|quitt|hir|cap|limit|pinn|renam|sunsett|rip|outsourc|stopp|stick"
    r"|stay|book|limit|ditch|phas|refinanc|rent|delay|skipp|leav|roll|convert|split|go)ing"
)
_SWITCH = (
    r"(?:move|switch|migrate|drop|keep(?! \w+ing\b)|replace|adopt|standardi[sz]e|cancel|sell|buy|scrap"
    r"|abandon|postpone|retire|consolidate|deprecate|cut|paint|quit|hire|cap|limit|pin|rename|sunset|rip out"
    r"|outsource|stop|stick|stay(?! (?:positive|strong|true|in touch))|book|ditch|phase|refinance|rent|delay"
    r"|skip|convert|split|use|support|ship|store|require|go with|go for|go back|charge|pay|publish|release"
    r"|only|no longer|always|never|do without|rely on|default to|leave out|take (?:the|option"
    r"|both)(?! (?:day|time|opportunity|lead|rest)\b))"
)
_NOBODY = (
    r"(?! (?:me|you|us|it|that|this|these|those|him|her|them)\b(?! (?:one|option|approach|plan|version)\b))"
)

DECISION = FindKind.DECISION

DECISION_CUES: tuple[Cue, ...] = (
    # Decisions, stated as made.
    cue(
        DECISION,
        "a verb of deciding with its subject",
        "decided resolved voted opted concluded",
        rf"(?P<head>(?:{_WHO}{_HAVE} |\A(?:finally |just |have )?)(?:decided|resolved|voted"
        rf"|concluded){_TRIVIAL}(?: to(?! not)| on| that|:| -) )"
        rf"|{_WHO}{_HAVE} (?:decided|resolved|voted|opted|concluded){_TRIVIAL}"
        r"(?: not)?(?: to| for| in favou?r of| we| out of| against| upon)\b",
        0.9,
    ),
    cue(
        DECISION,
        "a verb of agreeing",
        "agreed",
        rf"(?P<head>{_WHO}{_HAVE} agreed{_TRIVIAL} (?:to(?! not)|on|that) )|{_WHO}{_HAVE} agreed (?:not to"
        rf"|to not|we)\b",
        0.85,
    ),
    cue(
        DECISION,
        "a verb of choosing",
        "chose chosen picked selected settled went landed ruled committed rejected vetoed approved adopted",
        rf"(?:{_WHO}{_HAVE} |\A(?:finally |just )?)(?:chose(?!n| \w+ly\b)|chosen|picked(?! up)|selected"
        rf"|settled (?:on|for)|went (?:with|for(?! a\b))"
        r"|landed on|ruled out|committed to(?! (?:git|main|master|the (?:repo|branch)))|vetoed|(?:approved"
        r"|adopted(?! (?:a|an|another|two|three|our|my|him|her|me)\b)"
        rf"|rejected)(?! (?:the|this|my|your) (?:tool|edit|command|commit|push|plan))) {_NOBODY[:-1]})?",
        0.85,
    ),
    cue(
        DECISION,
        "decided, without saying by whom",
        "decided agreed settled chosen selected adopted approved",
        r"\b(?:it (?:was|is|has been|'s been)(?: \w+ly| then| now)? (?:decided|agreed|settled) (?:that|to"
        r"|on)|(?:was|were|has been|have been|got|is) (?:\w+ly )?(?:chosen|selected|adopted|ruled out) (?:as"
        r"|for|over|because|by (?:the|our) (?:team|board|committee|group|council|family)))\b",
        0.8,
    ),
    cue(
        DECISION,
        "a line labelled as a decision",
        "decision decisions decided ruling resolution entscheidung entschieden beschluss décision decisión"
        " choice agreed agreement consensus call",
        r"\A(?P<head>(?:(?:the|our|my|final|key|main|design|architecture|team|joint|board|so,?|and"
        r"|new) ){0,3}(?:decisions?|decided|ruling|resolution|entscheidung|entschieden|beschluss"
        r"|d\u00e9cision|decisi\u00f3n|choice|agreed|agreement|consensus|final call)(?: (?:made|taken"
        r"|reached|today|so far|was|is|here)| (?:on|about|for) [\w' -]{1,40}?)?(?: \d{1,3})?(?: ?: ?"
        r"| ?[\u2014\u2013] ?| - | (?:is|was) (?:to|that) ))(?=\S)",
        0.9,
    ),
    cue(
        DECISION,
        "the decision is said to be made",
        "decision choice mind minds",
        r"\b(?:(?:final|our|my|the) (?:\w+ )?(?:decision|choice)(?: on [\w ]{1,40})? (?:is|was"
        r"|stands)\b(?! (?:up to|yours|still|not|pending|open|about|between|whether|hard|tricky|made in|easy"
        r"|whose|to be)\b)|(?:made|made up|taken) (?:a|the|our|my) (?:final )?(?:decision|mind)s? ?(?:to\b"
        r"|on\b|that\b|about\b|:))",
        0.75,
    ),
    cue(
        DECISION,
        "going with one",
        "going go gonna went sticking stick staying",
        rf"(?:{_WHO}(?:'re|'m|'ll| are| will| am)?(?: (?:now|just|definitely|still|all|gonna"
        rf"|going to)){{0,2}}"
        rf"|\A) ?(?:going|go|stick|sticking|staying) (?:with|for)\b{_NOBODY}(?! (?:a (?:run|walk|swim|ride)"
        rf"|lunch|dinner)\b)",
        0.75,
        said_by=USER,
        leaves_open=True,
    ),
    cue(
        DECISION,
        "let's, and a verb of choosing",
        "let's lets",
        r"\b(?P<head>let'?s (?:(?:just|definitely|please|then|also|all|simply|instead"
        r"|rather) ){0,2})(?:(?:not|only|always) )?(?:go (?:with|for)|use|keep|stick (?:with|to)"
        r"|stay (?:with|on|at)|switch (?:to|over)|drop|settle on|make (?:it|them|this|that)|call (?:it|them"
        r"|this)|pick|choose|skip|avoid|limit|cap|standardi[sz]e|default to|adopt|ban|postpone|cancel|scrap"
        r"|rename|store|not|support|require|move (?:to|away|it to)|set (?:it|the \w+) (?:to|at)|have (?:it"
        r"|them)|do (?:[A-Z]\b|\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day|option|without|the (?:first"
        r"|second|third|latter|former)\b)|split (?:it|them|the)|replace|take (?:the|option)|go back to"
        r"|leave (?:it|the|out))\b(?! (?:\w+ing\b|at it|up\b|each|fighting|in mind|calm|this (?:opportunity"
        r"|time|chance)|a look|up for|down|into|worry|forget|rush|me|you|us|on (?:going|working)|it (?:going"
        r"|simple|in mind)|track|get ahead|panic|kid|jump|do (?:it|that|this) (?:yet|now))\b)",
        0.75,
        said_by=USER,
        leaves_open=True,
    ),
    cue(
        DECISION,
        "a change that we are making",
        "moving switching migrating dropping keeping replacing adopting standardizing standardising"
        " cancelling canceling selling buying scrapping abandoning postponing retiring consolidating"
        " deprecating cutting painting quitting hiring capping limiting pinning renaming sunsetting ripping"
        " outsourcing stopping sticking staying booking ditching phasing refinancing renting delaying"
        " skipping leaving converting splitting going",
        rf"\b(?:we|i|my (?:\w+ ){{1,3}}and i)(?:'re| are|'m| am)(?: (?:now|all|definitely|not|also|no longer"
        rf"|only"
        rf"|just)){{0,2}} {_SWITCHING}\b(?! (?:my fingers|to (?!use\b|keep\b|drop\b|the \w+ plan)|on\b"
        rf"|through|over"
        rf"|crazy|home|for a"
        r"|track|an eye|up\b|well|around|at this|that in mind|in mind|good|great|somewhere|nowhere|out\b"
        r"|in circles|wrong)|ing)",
        0.7,
        said_by=USER,
        leaves_open=True,
    ),
    cue(
        DECISION,
        "what we will or will not do",
        "we'll will won't not going gonna",
        rf"\b(?:we|i)(?:'ll| will| won't| will not|(?:'re|'m| are| am)(?: not)? (?:going to|gonna)| shall)"
        rf"(?: (?:not|just|only|also|now|always|definitely|simply|all)){{0,2}} {_SWITCH}\b"
        r"(?! (?:an eye|my fingers|going|love|remember|cherish|be\b|miss|have\b|you posted|in mind|looking"
        r"|working|trying|me|us|up\b|by\b|in touch|on\b|it in))",
        0.65,
        said_by=USER,
        leaves_open=True,
    ),
    cue(
        DECISION,
        "going back to what was",
        "back return revert",
        r"\b(?:we|i|let's)(?:'re|'ll| are| will)? ?(?:go|going|switch|switching|return|returning|revert"
        r"|reverting|move|moving|stay|staying) back to\b(?! (?:work|bed|sleep|you|the (?:question|topic"
        r"|start))\b)",
        0.7,
        said_by=USER,
    ),
    cue(
        DECISION,
        "what we do, and what we do not",
        "rather instead over not",
        r"\b(?:we|i)(?:'ll| will)? (?:only )?(?:use|keep|store|take|send|write|read|do|run|ship|build|pay"
        r"|buy|teach|measure|report|cite|call|put|serve|host|prefer|make|want|deploy|sign|test|log|return"
        r"|hash|share|sell)\b.{1,120}?(?: rather than | instead of |, (?:and )?not (?!sure|yet|only|just"
        r"|really|that\b|because)| over )",
        0.7,
        said_by=USER,
    ),
    cue(
        DECISION,
        "what was done, and not something else",
        "instead rather",
        r"(?:\A|, |\band )(?:i|we)(?:'ve| have)? (?:deliberately |intentionally |also |just )?(?:used|kept"
        r"|made|stored|wrote|put|left|reused|switched|moved|replaced|took|implemented|built|modelled|named"
        r"|set)\b.{1,140}? (?:rather than|instead of) ",
        0.6,
    ),
    cue(
        DECISION,
        "one of them it is",
        "it wins win winner final",
        r"\A(?:(?!(?:yes|yeah|yep|no|so|that|this|how|what|where|why|as|oh|here|there|sure|of|well|true"
        r"|indeed|\w+ly|i|and|but|if|like)\b)\w[^,.:]{0,60}? it is(?: then)?[.!]?\Z|[^,.:]{2,60} (?:wins"
        r"|is the winner)\b|final (?:answer|call|choice)\b)",
        0.75,
        said_by=USER,
    ),
    cue(
        DECISION,
        "said to be settled",
        "settled decided final confirmed official stone locked non-negotiable table nonnegotiable approved"
        " mandatory banned forbidden frozen cancelled canceled postponed choice pick winner",
        r"\b(?:is|are|'s|has been|have been|stays|remains) (?:now |hereby |all |already "
        r"|officially )?(?:decided|final\b(?! (?:step|draft|version|result|\w+))|confirmed(?! (?:by|that|in"
        r"|to be a))|official\b|set in stone|locked(?: in)?\Z|non-?negotiable|off the table"
        r"|approved\b(?! by the hook)|mandatory|banned|forbidden|frozen(?! (?:until|again))|cancell?ed\b"
        r"|postponed\b|(?:our|my|the) (?:final )?(?:choice|pick|winner)\b)",
        0.6,
        said_by=USER,
    ),
    cue(
        DECISION,
        "said to be meant so",
        "purpose deliberately intentionally design scope",
        r"\b(?:(?:we|i)(?:'ve)? .{2,80} (?:on purpose|by design)|(?:we|i)(?:'ve)? (?:have )?(?:deliberately"
        r"|intentionally|consciously) \w+|(?:is|are|'s|stays?) (?:explicitly |definitely "
        r"|now )?(?:out of scope|not in scope))\b",
        0.65,
        said_by=USER,
    ),
    cue(
        DECISION,
        "said to be settled, and how",
        "settled decided agreed official deal",
        r"(?P<head>\b(?:it's|that's|it is|that is) (?:all |now )?(?:settled|decided|agreed|official)(?: then"
        r"| now)?(?:: |, | [\u2014\u2013-] ))(?=\w+ \w)",
        0.8,
        said_by=USER,
    ),
    cue(
        DECISION,
        "it stays as it is",
        "stays remains",
        r"\A(?!(?:it|this|that|what|which|question|the question|who|whether|there)\b)(?:the |our |my "
        r"|all )?[\w'./ -]{2,40}? (?:stays|remains)\b(?! (?:with|true|open|unclear|unresolved|undecided"
        r"|unanswered|unsettled|a mystery|to be|tbd|blocked|on hold|pending|stuck|broken|unchanged|the same"
        r"|unknown))",
        0.6,
        said_by=USER,
    ),
    cue(
        DECISION,
        "this one only",
        "only",
        r"\A(?!(?:i|we|you|it|this|that|not|if|read|reading|view|test|for|the"
        r"|one)\b)[\w.'-]+(?: [\w.'-]+){0,3} only(?:[.,!]|\Z)",
        0.6,
        said_by=USER,
    ),
    cue(
        DECISION,
        "said to be out",
        "out question",
        r"\A(?!(?:it|he|she|time|nobody|everyone|who|what|which|that|this|there|power"
        r"|i)\b)[^,.:]{2,40} (?:is|are) out(?: of the question)?(?:[.,!]|\Z)",
        0.6,
        said_by=USER,
    ),
    cue(
        DECISION,
        "what we are not doing",
        "not",
        r"\bwe(?:'re| are) not (?!(?:see|get|feel|understand|find|follow|ask|say|talk|try|look|kidd|suggest"
        r"|work|hav|mak|be|th|runn|miss|expect|bring)\w*ing)[a-z]+ing\b",
        0.65,
        said_by=USER,
        leaves_open=True,
    ),
    # Decisions of a person's, ordered.
    cue(
        DECISION,
        "a rule: always or never",
        "never always",
        r"(?:\A(?:please |and |but |also |you should |you must |we |from now on,? )?(?:never|always)|\b(?:we"
        r"|you|they) (?:must|should|shall|will) (?:never|always)) (?!\w+ing\b|look forward|done\b|tried\b"
        r"|mind\b|been\b|had\b|the\b|a\b|seen\b|heard|ever\b|knew|thought|get\b|gets\b|happens?\b|works?\b"
        r"|felt|wanted|liked|love|remember\b|good\b|great\b|nice\b|fun\b|happy\b|glad\b|here\b|there\b|so\b"
        r"|hear\b|in\b|on\b|up\b|an\b|worth\b|better\b|best\b|hard\b|easy\b|with\b|be\b|forget\b"
        r"|ending)[a-z]+",
        0.7,
        said_by=USER,
    ),
    cue(
        DECISION,
        "a rule for all",
        "must shall needs need gets get goes go",
        r"\A(?:all|every|each|any|no) [\w' -]{2,60}? (?:must|shall|needs? to be|needs? (?:a|two|three"
        r"|at least|one)|gets? (?:a|two|its|their)|goes? (?:through|to))\b",
        0.6,
        said_by=USER,
    ),
    cue(
        DECISION,
        "a rule from now on",
        "now onwards onward forward",
        r"\b(?:from (?:now|today|here|monday|next \w+|january|july) on(?:wards?)?|going forward"
        r"|henceforth)\b",
        0.65,
        said_by=USER,
    ),
    cue(
        DECISION,
        "a rule: no such thing",
        "no",
        r"\Ano (?:more )?(?!(?:idea|problem|worries|thanks|thank|way|need|one|doubt|wonder|matter|rush|hurry"
        r"|clue|i|we|you|it|that|this|the|not|longer|but|he|she|they|there|just|please|luck|news|change"
        r"|changes|comment|difference|error|errors|output|reason|results?|such|other|explicit|issues?"
        r"|questions?|point|chance|big|answer|more|sorry|nothing|let|can|do|don't|go|wait|actually|because"
        r"|and|tests?|still|what|why|how|files?|match|matches|further|good|use|new|additional|known"
        r"|conflicts?|clear)\b)\w[\w'-]*(?: [^,.!?]{1,60})?[.!]?\Z",
        0.6,
        said_by=USER,
    ),
    cue(
        DECISION,
        "a person rules on a choice",
        "use go keep stick drop switch prefer forget scrap skip make ditch remove leave cap stay limit pick"
        " choose",
        r"\A(?:please |just |always |then |i want you to |and |also )?(?:go (?:with|for)\b|stick (?:with|to)"
        r"|use|keep|stay (?:with|on)|prefer|make (?:it|them|the)|pick|choose|limit|cap|store|put|write|call"
        r"|name|default to) (?:[^.!?]{1,120}?(?: instead of |, (?:and )?not (?!sure|yet|only|just|sufficient"
        r"|enough|working)| rather than | over (?!time|there|and|the)|, never )| .{0,3}\Z)",
        0.7,
        said_by=USER,
    ),
    cue(
        DECISION,
        "a rule: not that",
        "don't not",
        r"\A(?:please |and |also |so )?(?:don't|do not) (?:use|add|store|share|mock|include|mention|support"
        r"|rely on|log|hard-?code|depend on|introduce|import|mix|send|buy|book|sign|translate|shorten|rename"
        r"|publish|quote|round|abbreviate)\b(?!.* (?:yet|now|for now|until|again|here|this time)\b)",
        0.6,
        said_by=USER,
    ),
    cue(
        DECISION,
        "a person does not want it",
        "don't not",
        r"\b(?:i|we) (?:don't|do not) want (?!(?:to|you|it to|this to|that)\b)[a-z]",
        0.55,
        said_by=USER,
    ),
    cue(
        DECISION,
        "one over the other, in few words",
        "over",
        r"\A(?!(?:it|that|this|game|the|all|i|we|you|come|take|turn|look|read|go|start|sleep|more|well|just"
        r"|think|hover|hand|move|\w+ly)\b)[\w.+#-]+(?: [\w.+#-]+)? over (?!(?:now|yet|already|for|the|and"
        r"|there|here|time|again|to|it|that|this|a|my|your|\d)\b)[\w.'+#-]+(?: [\w.'+#-]+)?[.!]?\Z",
        0.55,
        said_by=USER,
    ),
    cue(
        DECISION,
        "a person takes one",
        "go stick stay switch forget scrap ditch drop use",
        rf"\A(?:please |just |then )?(?:go (?:with|for)|stick (?:with|to)|stay with|switch to"
        rf"|forget(?: about)?|scrap|ditch"
        rf"|drop)\b{_NOBODY}(?! (?:the (?:last|previous|above)|what|to|a (?:line|note|comment|file)|into"
        rf"|in\b|off|by)\b)"
        r"(?= .{2,80}\Z)",
        0.6,
        said_by=USER,
        leaves_open=True,
    ),
    cue(
        DECISION,
        "a person wants one and not the other",
        "want prefer rather like",
        r"\bi(?:'d| would)? (?:want|prefer|rather have|like)\b(?! to (?:know|see|understand"
        r"|ask)).{1,100}?(?:, (?:and )?not (?!sure|yet|only|just)| instead of | rather than | over )",
        0.6,
        said_by=USER,
    ),
    cue(
        DECISION,
        "a turn of a plot, with its place",
        "chapter act scene episode verse volume",
        r"\b(?:in|at the end of|by|until|before|after) (?:the \w+ )?(?:chapter|act|scene|episode|verse"
        r"|volume) (?:\d{1,3}|[ivx]{1,5}|one|two|three|four|five)\b",
        0.55,
        said_by=USER,
    ),
    *LANGUAGE_CUES,
)
