"""Function words: what breaks a clause, opens an adjunct, denies, conditions or generalises.

Rejecting words come in three kinds: before what they reject (`drop Kafka`), after it (`Kafka is rejected`),
and between what is chosen and what is not (`cookies instead of tokens`).
"""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of a table."""
    return frozenset(text.split())


BREAKS = word_set(
    """
    , : ; although because but however since so therefore though thus whereas while
    """
)
ADJUNCTS = word_set(
    """
    across after at before between by during except for from if in inside on onto outside per throughout
    till under unless until when whenever while within
    """
)
"""Prepositions that set place, time, purpose or condition; those of means (`with`, `via`) do not."""
CONDITIONS = word_set(
    """
    except exception experimental fallback given if may might onward optionally otherwise unless when
    whenever
    """
)
UNIVERSALS = word_set(
    """
    all always any anyone entire every everyone everywhere never nobody only sole whole
    """
)
FILLERS = word_set(
    """
    against already always another aren't can't doesn't don't entire etc even every everywhere going
    isn't let's like may might must neither never none one sole still via whole
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
    abandoned banned canceled cancelled declined deprecated disabled disallowed discarded discouraged
    dismissed dropped forbidden prohibited rejected removed retired scrapped vetoed
    """
)
REJECTED_BEFORE = word_set(
    """
    abandon avoid ban decline deprecate disallow ditch drop eliminate forbid oppose prohibit refuse
    reject replace retire scrap shun stop
    """
)
CONTRASTS = (
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
    accept accompany add adopt allow always answer apply approve archive are arrive ask assess assign
    assume attend authenticate authorise avoid back ban be begin belong bill bind block borrow build buy
    cache calculate call can cap carry charge check choose cite close collect come commit compute
    consist consume contain cook cost count cover create decide default delete deliver deny depend
    deploy deprecate die dig disable disallow display do document does don't donate drink drive drop eat
    embed emit enable encrypt end enforce expect expire explain expose face fail follow forbid format
    fund generate get give go grade grant handle happen harvest has hash have hire hold host implement
    indent index ingest inspect introduce invest is keep land last lead learn leave lend let lie limit
    list listen live log lose maintain make may mean measure measures meet merge migrate mock move must
    name narrate need never occur offer open operate paginate pass pay perform permit pick plant poll
    prefer print process provide prune publish pull push put quote rank rate read receive record refund
    refuse reject release rely remain remove render rent replace report represent require reserve rest
    restore retire retry return review ride rotate rule run save search select sell send serve set shall
    share ship should show sign sit sleep sort sow speak spend split stand standardise standardize start
    stay stop store stream subscribe support survive swim switch tag take talk target teach tell test
    tie track train translate treat trust use validate verify version vote walk was water wear weigh
    were will win work write
    """
)
NOUNS_TOO = word_set(
    """
    answer block build cache call cap charge check close comment commit cook cost count cover deploy
    display document drink drive drop end face format fund grade handle hash host index last lead lease
    limit list log measure merge mock move name need open pay plant poll print process pull push rate
    record release report rest review ride rule run search set share ship show sign sleep sort split
    stand start stay stop store stream support swim switch tag talk target test train trust use version
    vote walk water weigh work
    """
)
"""Verbs that are nouns as often: at the head of a text that has another verb, and after a plain word, they are."""
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
