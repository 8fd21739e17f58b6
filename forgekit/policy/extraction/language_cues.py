"""The cues of decisions in other languages, a handful each, as data."""

from __future__ import annotations

from forgekit.policy.extraction.cue import Cue, cue
from forgekit.policy.extraction.find import FindKind

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
