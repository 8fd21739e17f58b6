#!/bin/sh
# Print which decisions govern the files of a change: hooks/ci/explain.sh BASE..HEAD
# Contradictions are looked for where `forgekit model install` was run; elsewhere stderr names what is missing.
# FORGEKIT_CI_FAIL=conflicts fails where one of them is in an open conflict, =stale also where one is stale.
set -eu
range=${1:?give two revisions, such as origin/main..HEAD}
fail=${FORGEKIT_CI_FAIL:-never}
case $fail in never | conflicts | stale) ;; *)
    echo "FORGEKIT_CI_FAIL must be never, conflicts or stale" >&2
    exit 2
    ;;
esac

forgekit explain --diff "$range"
[ "$fail" = never ] && exit 0
forgekit explain --diff "$range" --json 2>/dev/null | python3 -c '
import json, sys
rows = json.load(sys.stdin)["decisions"]
wrong = [row for row in rows if row["conflicts"] or (sys.argv[1] == "stale" and row["stale"])]
for row in wrong:
    why = "is in an open conflict" if row["conflicts"] else "is stale"
    print(row["short_id"], why + ":", row["decision"], file=sys.stderr)
sys.exit(1 if wrong else 0)' "$fail"
