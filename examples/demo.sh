#!/usr/bin/env bash
# The whole loop on the sample archives, in a throw-away registry.
#
#   make demo            runs it and deletes the folder
#   KEEP=1 make demo     keeps the folder, to look around in
set -euo pipefail

examples=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
work=$(mktemp -d "${TMPDIR:-/tmp}/forgekit-demo.XXXXXX")
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT

# One author, one clock and no settings of yours: the demo prints the same on every machine, but for the names of commits.
for variable in $(env | sed -n 's/^\(GIT_[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
export GIT_AUTHOR_NAME=Ines GIT_AUTHOR_EMAIL=ines@example.org
export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
export FORGEKIT_NOW=2026-09-21T09:00:00Z
unset FORGEKIT_ROOT

program=${FORGEKIT:-forgekit}
forgekit() { command "$program" "$@"; }

step() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
[ -t 1 ] || step() { printf '\n== %s\n' "$*"; }
say() { printf '   %s\n' "$@"; }
# Print a command as one would type it, then run it.
run() { printf '\n$ %s\n' "$1"; eval "$1"; }

step "A registry is a folder in a git repository. This one goes away at the end."
mkdir "$work/registry" && cd "$work/registry"
run 'forgekit demo-data ../saved'
run 'git init --quiet --initial-branch=main .'
run 'forgekit init'

step "File what compressing eight conversations produced, in whatever order the files come to hand."
run 'forgekit sync-compression ../saved/trellis-4-classrooms.md ../saved/harbor-3-webhooks.md \
    ../saved/trellis-5-pilot.md ../saved/trellis-1-curriculum-graph.md ../saved/harbor-2-resources.md \
    ../saved/trellis-3-spaced-practice.md ../saved/harbor-1-authentication.md ../saved/trellis-2-placement.md'

step "The order does not matter: a second registry, files one by one in order of their names, ends in the same bytes."
(
    mkdir ../second && cd ../second
    git init --quiet --initial-branch=main .
    forgekit init >/dev/null 2>&1
    for archive in ../saved/*.md; do forgekit sync-compression --archive "$archive" >/dev/null 2>&1; done
)
run 'git rev-parse HEAD^{tree}'
run 'git -C ../second rev-parse HEAD^{tree}'

step "Where does everything stand?"
run 'forgekit status'

step "Two projects decided things that cannot both be followed. A person chooses; until then neither is carried. (This needs the model.)"
run 'forgekit conflict list'

step "Before compressing the next conversation, paste this into it: what the registry knows and the model may not."
run 'forgekit prepare-compression --project Trellis --budget 1500'

step "Continue from an old archive. It shows threads as open that have been resolved since; the registry corrects it."
run 'forgekit prepare-continuation --tag TRELLIS_PLACEMENT_CHOSEN --budget 1500'

step "Ask why."
run 'forgekit ask "Why did we decide to offer the public API as REST?"'

step "Which conversation led where? Named by the uuid that the chat platform gave it."
run 'forgekit trace 5b0c8a52-6f0e-4c1b-9d57-2e94c6f3a7d1'

step "Which decisions has nobody stated again for a month, and which build on one that was revised?"
run 'forgekit stale'

python=$(dirname "$(command -v "$program")")/python
if "$python" -c 'import mcp' 2>/dev/null; then
    step "A coding agent: hooks tell it what was decided, it records over MCP, and its session is filed. A second time changes nothing."
    export XDG_DATA_HOME=${XDG_DATA_HOME:-$HOME/.local/share}
    run "HOME=$work $python $examples/agent_session.py ."
    before=$(git rev-parse 'HEAD^{tree}')
    HOME=$work "$python" "$examples/agent_session.py" . >/dev/null
    run 'git rev-parse HEAD^{tree}'
    say "before the second time: $before"
fi

step "All of it is plain files with a history. This is how filing the archive on spaced practice revised a decision."
first=$(grep -l "decision: A skill counts as mastered after three" registry/decisions/*/*.md)
run "git -C ../second log -1 --patch --unified=1 --format='%an: %s%n%n%b' -- $first"
mastery=$(grep -l "decision: A skill counts as mastered after five" registry/decisions/*/*.md)
run "cat $mastery"

step "Edit a file with any editor. A decision's id names its text, so check sees what happened ..."
run "sed 's/five correct answers/four correct answers/' $mastery >edited && mv edited $mastery"
run 'forgekit check || true'

step "... and --fix turns the edit into a proper revision: the old decision stays, and names the new one."
run 'forgekit check --fix'
run 'forgekit check'

step "What to try next"
if [ -n "${KEEP:-}" ]; then
    say "cd $work/registry"
else
    say "KEEP=1 make demo          keep the folder of this demo, and look around in it"
fi
say "forgekit init             begin a registry of your own, in any git repository" \
    "forgekit --help           all commands; each has --help and examples" \
    "docs/FORMAT.md            the format of the files"
