"""English words that say nothing of a text's subject: they match everything."""

from __future__ import annotations

_STOP_WORDS = (
    "a about after all also am an and any are aren as at be because been before being both but by can cannot "
    "could couldn did didn do does doesn doing don each for from had has hasn have haven having he her here "
    "him his how i if in into is isn it its itself just ll let me more most my no nor not of on once only or "
    "other our ours out own re s same shall she should shouldn so some such t than that the their them then "
    "there these they this those through to too under until up us ve very was wasn we were weren what when "
    "where which while who whom why will with won would wouldn you your yours"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
