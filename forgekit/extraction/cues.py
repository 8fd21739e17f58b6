"""The cues of decisions, as data: stated as made, or ordered by a person."""

from __future__ import annotations

from forgekit.extraction.find import USER, Cue, FindKind, cue

DECISION = FindKind.DECISION

LANGUAGE_CUES: tuple[Cue, ...] = (
    cue(
        DECISION,
        "German: decided",
        "entschieden beschlossen geeinigt nehmen bleiben bleibt festgelegt",
        r"\b(?:(?:haben|hat|habe|hab|ist|wurde) (?:.{0,80}? )?(?:entschieden|beschlossen|geeinigt"
        r"|festgelegt)|wir (?:nehmen|bleiben bei)|es bleibt bei|(?:dann |also )nehmen wir)\b",
        0.8,
    ),
    cue(
        DECISION,
        "French: decided",
        "décidé choisi convenu opté gardons garde partons part prend prenons retenu retenons tranché",
        r"\b(?:(?:avons|a|ai|ont|est) (?:\w+ )?(?:d\u00e9cid\u00e9|choisi|convenu|opt\u00e9|retenu"
        r"|tranch\u00e9)|on (?:garde|part sur|prend|reste sur)|(?:gardons|partons sur|prenons|retenons))\b",
        0.8,
    ),
    cue(
        DECISION,
        "Spanish, Portuguese or Italian: decided",
        "decidido decidimos elegido elegimos optado optamos acordado acordamos quedamos decidi escolhemos"
        " deciso scelto abbiamo vamos usemos",
        r"\b(?:hemos (?:decidido|elegido|optado|acordado)|(?:se )?ha (?:decidido|acordado)|decidimos"
        r"|elegimos|optamos|acordamos|quedamos en|he decidido|escolhemos|abbiamo (?:deciso|scelto)|ho deciso"
        r"|si \u00e8 deciso|vamos a (?:usar|quedarnos con)|usemos)\b",
        0.8,
    ),
    cue(
        DECISION,
        "Dutch or Swedish: decided",
        "besloten gekozen beslutat bestämt valt",
        r"\b(?:(?:hebben|is|heb) (?:.{0,80}? )?(?:besloten|gekozen)|(?:har|vi) (?:.{0,40}? )?(?:beslutat"
        r"|best\u00e4mt|valt))\b",
        0.8,
    ),
    cue(
        DECISION,
        "Japanese, Chinese or Korean: decided",
        "\u6c7a \u51b3 \u5b9a \u63a1 \u7528 \uacb0 \u9009 \u9078",
        r"(?:\u306b|\u3068|\u3092|\u304c)?\u6c7a(?:\u3081\u307e\u3057\u305f|\u3081\u305f"
        r"|\u307e\u308a\u307e\u3057\u305f|\u307e\u3063\u305f|\u5b9a\u3057(?:\u307e\u3057\u305f|\u305f))"
        r"|\u3053\u3068\u306b\u3057\u307e(?:\u3057\u305f|\u3059)|(?:\u63a1\u7528"
        r"|\u9078\u629e)\u3057\u307e\u3057\u305f|\u51b3\u5b9a|\u6c7a\u5b9a(?!\u3057\u3066\u3044\u307e\u305b)"
        r"|(?:\u6211\u4eec|\u6211\u5011)(?:\u9009\u62e9|\u9078\u64c7|\u9009|\u5c31\u7528|\u6539\u7528)"
        r"|\uacb0\uc815\ud588|\uae30\ub85c \ud588",
        0.8,
    ),
)


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
