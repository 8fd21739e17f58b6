"""Commands that keep a registry in order: init, check, index, export, completion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from forgekit import console
from forgekit.cli.base import (
    COMPLETE,
    PATH,
    example,
    is_dry_run,
    json_option,
    noun,
    open_forge,
    options,
    project_option,
    root_of,
    wants_json,
    writing,
)
from forgekit.cli.changes import conflict_lines, conflict_view, done, talk_of_judge
from forgekit.cli.entities import problem_view
from forgekit.errors import UsageError

if TYPE_CHECKING:
    from forgekit.upkeep.check import Findings


@click.command(
    help="Make a folder a registry: settings, folders, one commit. A second time changes nothing.\n\n"
    "In no git repository, the folder becomes one.\n\n" + example("forgekit init", "forgekit init ~/registry")
)
@click.argument("folder", required=False, type=PATH, metavar="[DIR]")
@writing
def init(folder: str | None, *, dry_run: bool, no_commit: bool) -> None:
    """Make a registry."""
    from forgekit.upkeep.init_migrate import initialise

    way = options(dry_run=dry_run, no_commit=no_commit)
    place = Path(root_of() or ".") / (folder or "")
    made = initialise(place, dry_run=way.dry_run, no_commit=way.no_commit)
    if wants_json():
        console.as_json(
            {
                "root": str(made.root),
                "commit": made.outcome.commit,
                "dry_run": dry_run,
                "written": sorted(made.outcome.written),
            }
        )
        return
    if made.made_repository:
        console.info(f"made a git repository in {made.root}")
    if made.outcome.diff:
        console.diff(made.outcome.diff)
    elif made.outcome.written:
        console.data("\n".join(made.outcome.written))
    if made.outcome.written:
        console.info(f"init {made.root}: {done(made.outcome)}")
        console.info(
            "next: `forgekit sync-compression --archive FILE`, or `forgekit decision new TEXT --project NAME`"
        )
    elif made.registered:
        console.info(f"{made.root} is a registry already; this clone now merges its files by their meaning")
    else:
        console.info(f"{made.root} is a registry already: nothing to do")


@click.command(
    help="Check the registry's files, or some of them; exit status 1 when something must be mended.\n\n"
    + example(
        "forgekit check", "forgekit check registry/decisions/2026-03 --json", "forgekit check --fix --dry-run"
    )
)
@click.argument("paths", nargs=-1, type=PATH, metavar="[PATHS]...")
@click.option("--fix", is_flag=True, help="Mend what needs no person, in one commit.")
@click.option("--staged", is_flag=True, help="Check the files that are staged for the next commit.")
@writing
def check(paths: tuple[str, ...], *, fix: bool, staged: bool, dry_run: bool, no_commit: bool) -> int:
    """Check the registry."""
    from forgekit.upkeep import check

    way = options(dry_run=dry_run, no_commit=no_commit)
    if (dry_run or no_commit) and not fix:
        raise UsageError("--dry-run and --no-commit go with --fix; a check writes nothing")
    if staged and paths:
        raise UsageError("--staged names the files itself; leave PATHS out")
    forge = open_forge()
    if not paths:
        _ = forge.settings  # a registry whose settings cannot be read is not in order
    chosen: list[str] | None = None
    if staged and fix:
        chosen = [path for path, _ in forge.store.repository.staged()]
    elif paths:
        chosen = check.relative(forge, paths, Path.cwd())
    with console.progress("checking"):
        if fix:
            found = check.fix(forge, chosen, dry_run=way.dry_run, no_commit=way.no_commit)
        else:
            found = check.check_staged(forge) if staged else check.check(forge, chosen)
    if wants_json():
        console.as_json(_findings(found))
    else:
        _say(found)
        if found.fixed:
            talk_of_judge(forge)
    return 1 if found.errors else 0


def _say(found: Findings) -> None:
    for item in found.fixed:
        console.data(f"{item.path}: {item.message}")
    if found.outcome is not None and found.fixed:
        if found.outcome.diff:
            console.diff(found.outcome.diff)
        console.info(f"check --fix: {done(found.outcome)}")
        for conflict in found.conflicts:
            for line in conflict_lines(conflict):
                console.info(line)
    for problem in found.problems:
        console.data(f"{problem.severity.value}: {problem}")
    files = f"{found.looked_at:,} {'entity' if found.looked_at == 1 else 'entities'} checked"
    mendable = sum(problem.fixable for problem in found.problems)
    hint = f"; `forgekit check --fix` mends {mendable}" if mendable and not found.fixed else ""
    others = len(found.problems) - found.errors
    console.info(f"{files}: {console.count(found.errors, 'error')}, {console.count(others, 'remark')}{hint}")


def _findings(found: Findings) -> dict[str, object]:
    return {
        "checked": found.looked_at,
        "errors": found.errors,
        "problems": [problem_view(problem) for problem in found.problems],
        "fixed": [{"code": f.code, "path": f.path, "message": f.message} for f in found.fixed],
        "commit": found.outcome.commit if found.outcome else None,
        "dry_run": is_dry_run(),
        "written": sorted(found.outcome.written) if found.outcome else [],
        "conflicts": [conflict_view(conflict) for conflict in found.conflicts],
    }


index = noun("index", "The cache behind searches. It can be deleted at any time.")


@index.command(
    help="Bring the index of words and vectors up to date; `--force` makes it anew.\n\n"
    "An interrupted build keeps the vectors that it has made.\n\n" + example("forgekit index build")
)
@click.option("--force", is_flag=True, help="Delete it first.")
def build(*, force: bool) -> None:
    """Build the index."""
    from forgekit.search import bring_up

    forge = open_forge()
    if force:
        forge.catalogue.close()
        for path in (*_files_of(forge.catalogue.path), *forge.catalogue.path.parent.glob("vectors*")):
            path.unlink(missing_ok=True)
    with console.progress("reading all files"):
        found = forge.catalogue.refresh()
    console.info(
        f"index: {found.added} added, {found.updated} updated, {found.removed} removed, "
        f"{found.unreadable} unreadable"
    )
    if forge.vectors is None:
        console.info(f"no vectors: {forge.encoder}")
        return
    with console.meter("encoding texts") as progress:
        built = bring_up(forge, forge.vectors, progress=progress)
    console.info(f"vectors: {built.added} added, {built.reused} kept, {built.removed} removed")
    if forge.vectors.status().count < built.added + built.reused:
        folder = forge.catalogue.path.parent
        console.info(f"they are not kept: {folder} cannot be written; make it writable and build again")


def _files_of(database: Path) -> list[Path]:
    return [Path(f"{database}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")]


@index.command(
    "status", help="Say what the index holds and where it lies.\n\n" + example("forgekit index status")
)
@json_option
def index_status(*, as_json: bool) -> None:
    """Show the state of the index."""
    forge = open_forge()
    path = forge.catalogue.path
    stood = path.exists()
    found = forge.catalogue.refresh()
    number = len(forge.catalogue.contents())
    vectors = forge.vectors.status() if forge.vectors else None
    if as_json:
        console.as_json(
            {
                "path": str(path),
                "existed": stood,
                "entities": number,
                "bytes": path.stat().st_size if path.exists() else 0,
                "added": found.added,
                "updated": found.updated,
                "removed": found.removed,
                "unreadable": found.unreadable,
                "model": vectors.model if vectors else None,
                "vectors": vectors.count if vectors else 0,
                "vectors_kind": vectors.kind if vectors else "none",
                "vectors_bytes": vectors.size if vectors else 0,
            }
        )
        return
    console.fields(
        {
            "path": str(path),
            "entities": f"{number:,}",
            "size": f"{path.stat().st_size / 1e6:.1f} MB" if path.exists() else "in memory",
            "was": f"behind by {found.added + found.updated + found.removed} files" if stood else "missing",
            "unreadable": str(found.unreadable),
            "model": vectors.model if vectors else str(forge.encoder),
            "vectors": f"{vectors.count:,} of {number:,} ({vectors.kind}), {vectors.size / 1e6:.1f} MB"
            if vectors
            else "none",
        }
    )


@index.command(
    "verify",
    help="Make a sample of the vectors anew and compare; exit status 1 when one differs.\n\n"
    + example("forgekit index verify"),
)
@click.option("--sample", type=click.IntRange(1), default=64, show_default=True, metavar="N")
@json_option
def index_verify(sample: int, *, as_json: bool) -> int:
    """Check the vectors."""
    from forgekit.search import verify

    with console.progress("comparing vectors"):
        found = verify(open_forge(), sample)
    if as_json:
        console.as_json(found._asdict())
    else:
        console.data(
            f"{console.count(found.compared, 'vector')} compared: {found.wrong} wrong; "
            f"{console.count(found.missing, 'entity', 'entities')} without a vector"
        )
    if found.wrong:
        console.info("`forgekit index build --force` makes the index anew")
    elif found.missing:
        console.info("`forgekit index build` makes the vectors that are missing")
    return 1 if found.wrong else 0


@click.command(
    help="Write the registry in another format to stdout.\n\n"
    + example("forgekit export --format jsonl > registry.jsonl", "forgekit export --format mermaid")
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "jsonl", "csv", "markdown", "mermaid"]),
    default="json",
    show_default=True,
)
@project_option
def export(form: str, project: str | None) -> None:
    """Export the registry."""
    from forgekit.cli.entities import talk_of_unreadable
    from forgekit.conflict.finding import NOTHING
    from forgekit.findings import findings_of
    from forgekit.upkeep.export import Format
    from forgekit.upkeep.export import export as exported

    forge = open_forge()
    registry = forge.registry()
    owner = forge.known_project(project, registry).id if project is not None else None
    findings = findings_of(forge, registry) if form in ("json", "markdown") else NOTHING
    console.verbatim(exported(registry, Format(form), owner, findings))
    talk_of_unreadable(forge)


@click.command(
    help="Print the shell script that completes commands and options.\n\n"
    + example(
        "forgekit completion bash > ~/.local/share/bash-completion/completions/forgekit",
        "forgekit completion zsh > ~/.zfunc/_forgekit",
        "forgekit completion fish > ~/.config/fish/completions/forgekit.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), default="bash")
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a completion script."""
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None  # noqa: S101 - the choices are those that click knows
    script = made(ctx.find_root().command, {}, "forgekit", COMPLETE)
    console.data(script.source().rstrip("\n"))
