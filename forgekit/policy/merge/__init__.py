"""The three-way merge: field by field, by what each field means.

`base` is the last state that both sides knew. A field that one side changed takes that side's value.
Where both changed it, its rule decides:

* a set keeps what either side added and loses what either side removed; a keyed map likewise;
* of two times the later or the earlier stands, of two states of a thread the later;
* fields that only make sense together (a state, a pair of ids) are one group and come from one side;
* everything else is a `FieldConflict`: one value stands and the other yields until a person has chosen.

Two merges share these rules. `merge` brings what archives say into the files that people edit: there ours
stands. `reconcile` brings two clones together: there the same value stands from whichever side one looks
(the greater text: files hold no time for an edit of text, and clocks differ), and the one that yields is
kept in the section `## Conflicting edits` of the file, so that a conflict is data and never a broken file.

Order of a set both sides changed: sets of ids are sorted (so by time); other lists keep the order of a side
that holds just what is kept; else that of the one side that rearranged it, and additions follow, sorted.

Laws, with x | y for `reconcile(b, x, y)`:

    merge(b, x, x) == merge(b, b, x) == merge(b, x, b) == x, and so for |
    x | y == y | x          (x | y) | y == x | y
    with no conflict, merge(b, x, y) == x | y
    what one side alone changed is in the result; what either side wrote is there, in the conflicts,
    or outlived by a rule on times or states; a key that nobody knows is kept
"""

from forgekit.policy.merge.entity import merge, reconcile
from forgekit.policy.merge.values import FieldConflict, Merged

__all__ = ["FieldConflict", "Merged", "merge", "reconcile"]
