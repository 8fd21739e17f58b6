"""Function words: what breaks a clause, opens an adjunct, denies, conditions or generalises.

Rejecting words come in three kinds: before what they reject (`drop Kafka`), after it (`Kafka is rejected`),
and between what is chosen and what is not (`cookies instead of tokens`).
"""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of a table."""
    return frozenset(text.split())


def entries(text: str) -> list[str]:
    """Return the entries of a table, one a line; an indented line goes on with the one before."""
    return text.replace("\n    ", " ").strip().splitlines()


BREAKS = word_set(
    """
    , : ; although because but however since so therefore though thus whereas while
    """
)
ADJUNCTS = word_set(
    """
    across after at before between during except for from if in inside on onto outside per throughout
    till under unless until when whenever while within
    """
)
"""Prepositions that set place, time, purpose or condition; those of means (`with`, `via`) do not."""
CONDITIONS = word_set(
    """
    except exception experimental fallback if onward optionally otherwise unless when whenever
    """
)
UNIVERSALS = word_set(
    """
    all always any anyone entire every everyone everywhere never nobody only sole whole
    """
)
ABSOLUTES = word_set(
    """
    always never nobody
    """
)
"""Words that leave no room for a condition on the other side."""
SPECIAL_CASES = word_set(
    """
    except exception experimental fallback optionally otherwise unless
    """
)
"""Conditions that carve a case out, whatever the rule says."""
FILLERS = word_set(
    """
    a about against all already also always am an and another any are aren aren't as be been being both
    by can can't cannot could couldn did didn do does doesn doesn't doing don don't each entire etc even
    every everywhere going had has hasn have haven having he her here him his how i into is isn isn't it
    its itself just let let's like ll may me might more most must my neither never no none nor not of
    off once one only or other our ours out over own re s same shall she should shouldn sole some still
    such t than that the their them then there these they this those through to too up us ve very via
    was wasn we were weren what where which who whole whom why will with without won would wouldn you
    your yours
    """
)
BE = word_set(
    """
    are be been being get gets is remain remains was were
    """
)
ARTICLES = word_set(
    """
    a all an any each every her his its no of one our per that the their this your
    """
)
PERSONS = word_set(
    """
    always can don't everyone i may must never not shall should they to users we will you
    """
)
"""Words that a verb follows."""
NEGATORS = word_set(
    """
    aren't can't cannot didn't doesn't don't isn't mustn't neither never no none nor not shouldn't
    wasn't without won't wouldn't
    """
)
ASSENTS = word_set(
    """
    accepted adopted allowed kept needed offered permitted required supported used wanted welcome
    """
)
"""Denied after a subject (`JWT is not used`), they reject the subject."""
CHOOSING = word_set(
    """
    adopt choose favor favour pick prefer select use win
    """
)
"""Verbs after which `over` rejects what follows."""
MOVING = word_set(
    """
    away migrate move replace switch
    """
)
"""Verbs whose `from` rejects what follows."""
REJECTED_AFTER = word_set(
    """
    abandoned banned canceled cancelled declined deprecated disabled disallowed discarded discontinued
    discouraged dismissed dropped forbidden off prohibited rejected removed retired scrapped stopped
    vetoed
    """
)
LEAVING = word_set(
    """
    forget lack leave lose miss neglect
    """
)
"""Verbs whose denial says yes to what they name (`never leaves Europe`)."""
REJECTED_BEFORE = word_set(
    """
    abandon avoid ban cease decline deprecate disallow discontinue ditch drop eliminate exclude forbid
    ignore omit oppose prohibit quit refuse reject replace retire scrap shun skip stop
    """
)
CONTRASTS = (
    "decided against",
    "decide against",
    "voted against",
    "opted against",
    "instead of",
    "rather than",
    "in place of",
    "as opposed to",
    "no longer",
    "in favour of",
    "in favor of",
)
REJECTED_PHRASES = ("turned down", "ruled out", "voted down", "thrown out", "struck down")
AUXILIARIES = word_set(
    """
    are be can can't cannot do does doesn't don't had has have is may must shall should was were will
    """
)
VERBS = word_set(
    """
    abbreviate accept accompany acknowledge add adopt aim alert allow always analyse analyze annotate
    answer apply appoint approve archive are arrive ask assert assess assign assume attend attribute
    authenticate authorise avoid back backfill bake balance ban batch be begin belong benchmark bill
    bind block borrow breathe build bundle buy cache calculate call can cancel cap capitalise carry
    catch charge check choose cite clean close collect come commit compact compile compost compress
    compute confirm consist consume contain convert cook cost count cover create credit debounce decide
    decompress deduct default delete deliver deny depend deploy deposit deprecate describe die dig
    disable disallow dispatch display diversify do document does don't donate downgrade download draft
    drink drive drop eat edit elect embed emit emulate enable encrypt end enforce enqueue enter escalate
    estimate evaluate evict exercise expect expire explain expose face fail fake fast finance fertilise follow
    forbid foreshadow format fund generate get give go grade grant guarantee handle happen harvest has
    hash have hedge hide hire hit hold host hyphenate implement indent index inform ingest inspect
    instrument introduce invalidate invest is join keep label land last lead learn leave lend let
    license lie lift limit link lint list listen live log lose maintain make may mean measure measures
    meditate meet mention merge migrate minify mock mount move mulch must name narrate need never
    nominate normalise normalize notify obey observe occur offer open operate optimise optimize order
    page paginate paint partition pass patch pay peel perform permit pick pin plan plant poll postpone
    prefer print process profile prompt proofread provide provision proxy prune publish pull push put
    queue quit quote raise rank rate read rebalance reboot receive record recycle redirect refer refund
    refuse reimburse reindex reject release rely remain remove render rent repair replace replicate
    report represent require reserve resign rest restart restore retire retry return reuse reveal review
    ride roll rotate route rule run sample save scale scan schedule search seed select sell send serve
    set shall shard share ship should show shuffle sign simulate sit skip sleep smoke sort sow speak
    spend split spray stand standardise standardize start stay stop store stream stretch stub subscribe
    support survive swim switch sync synchronise tag take talk target teach tell terminate test throttle
    throw tie touch trace track train transfer translate transpile transplant treat triage trust tune
    type typecheck unmount upgrade upload use vacuum validate vendor verify version vote wake walk was
    wash water wear weed weigh were will win withdraw work write
    """
)
NOUNS_TOO = word_set(
    """
    aim answer balance batch benchmark block build bundle cache call cap charge check close comment
    commit cook cost count cover credit deploy deposit display document draft drink drive drop edit end
    estimate exercise face fast format fund grade handle hash hide hit host index label last lead lease
    lift limit link list log measure merge mock mount move name need open order page paint partition
    patch pay pin plan plant poll print process profile proxy pull push queue quote rate record release
    repair report rest review ride route rule run sample scale scan schedule search set shard share ship
    show sign sleep sort split stand start stay stop store stream stretch support swim switch tag talk
    target test trace train transfer trust type upgrade use version vote walk water weigh work
    """
)
"""Verbs that are nouns as often: at the head of a text that has another verb, they are nouns."""
LIGHT_VERBS = word_set(
    """
    add adopt allow apply are be build call can carry choose come do get give go handle happen have hold
    implement include is keep let live make may must need pick prefer provide put read remain require
    return run select send set shall should stay store support take use want was were will work write
    """
)
"""Verbs that say little about what a text is about."""
IRREGULAR = {
    "agreed": "agree", "always": "always", "analyses": "analysis", "anything": "anything", "apply":
    "apply", "assembly": "assembly", "ate": "eat", "aws": "aws", "bought": "buy", "bring": "bring",
    "built": "build", "bus": "bus", "came": "come", "canvas": "canvas", "children": "child", "chose":
    "choose", "chosen": "choose", "cookies": "cookie", "criteria": "criterion", "css": "css", "daily":
    "daily", "data": "data", "dbs": "db", "did": "do", "died": "die", "dies": "die", "dns": "dns",
    "does": "do", "doing": "do", "done": "do", "during": "during", "early": "early", "eaten": "eat",
    "ecs": "ecs", "embed": "embed", "embedding": "embed", "embeddings": "embed", "english": "english",
    "evening": "evening", "exceed": "exceed", "family": "family", "feed": "feed", "fortnightly":
    "fortnightly", "freed": "free", "gave": "give", "given": "give", "goes": "go", "gone": "go", "had":
    "have", "has": "have", "held": "hold", "hourly": "hourly", "https": "https", "hundred": "hundred",
    "ids": "id", "indices": "index", "ios": "ios", "jenkins": "jenkins", "js": "js", "kept": "keep",
    "kubernetes": "kubernetes", "left": "leave", "lies": "lie", "macos": "macos", "made": "make", "met":
    "meet", "monthly": "monthly", "morning": "morning", "movies": "movie", "nats": "nats", "need":
    "need", "nightly": "nightly", "nothing": "nothing", "only": "only", "paid": "pay", "pandas":
    "pandas", "pass": "pass", "people": "person", "postgres": "postgres", "proceed": "proceed", "prs":
    "pr", "public": "public", "quarterly": "quarterly", "ran": "run", "redis": "redis", "reply":
    "reply", "ring": "ring", "saas": "saas", "said": "say", "sas": "sas", "seed": "seed", "sent":
    "send", "series": "series", "shed": "shed", "shown": "show", "sing": "sing", "sms": "sms", "sold":
    "sell", "speed": "speed", "spent": "spend", "spring": "spring", "sqs": "sqs", "string": "string",
    "succeed": "succeed", "supply": "supply", "taken": "take", "taught": "teach", "thing": "thing",
    "this": "this", "ties": "tie", "tls": "tls", "told": "tell", "took": "take", "ts": "ts", "uis":
    "ui", "urls": "url", "used": "use", "uses": "use", "using": "use", "vms": "vm", "weekday":
    "weekday", "weekly": "weekly", "went": "go", "written": "write", "wrote": "write", "yearly":
    "yearly",
}  # fmt: skip
"""Stems that no rule gives; a word that stems to itself is kept from the rules."""

SURE_BEFORE_VERB = word_set(
    """we they never must should shall will may can cannot can't don't doesn't didn't won't shouldn't mustn't
    let's"""
)
"""A word behind one of these is a verb, known or not."""
USING = word_set(
    """use adopt have need want build make support allow accept put add include permit set get choose pick
    touch hit"""
)
"""Verbs of plain use: to say no to one is to say no to its object."""
