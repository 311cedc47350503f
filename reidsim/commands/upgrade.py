"""The command that rewrites a scenario of an earlier version."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reidsim.commands.arguments import STANDARD_OUTPUT


def upgrade(
    file: Annotated[Path, typer.Argument(help="Scenario file (TOML).", metavar="FILE")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="New file (default: FILE itself), or - to print it.")
    ] = None,
) -> None:
    """Rewrite a scenario of an earlier version, in place or to a new file; comments and order stay.

    Example: reidsim upgrade mine.toml

    Example: reidsim upgrade former.toml -o mine.toml
    """
    from reidsim.scenarios.upgrade import require_upgrades, write_upgraded

    if output == STANDARD_OUTPUT:
        typer.echo(require_upgrades(file).text, nl=False)
        return
    result = write_upgraded(file, output)
    for change in result.changes:
        typer.echo(change)
    if not result.changes:
        typer.echo(f"{file} is of the present form" + ("; left as it is" if output is None else ""))
    if result.changes or output is not None:
        typer.echo(f"Written: {output or file}")
