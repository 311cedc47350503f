"""The command that writes the reference pages of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reidsim.commands.exit_codes import EXIT_CODES


def reference(
    context: typer.Context,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder of the documentation; pages in reference/ are replaced.")
    ] = Path("docs"),
) -> None:
    """Write the reference of scenario keys, recipe keys and commands, from the code (Markdown).

    Example: reidsim reference -o docs

    Example: reidsim reference -o docs-again
    """
    from reidsim.engine.results import require_no_standard_output
    from reidsim.reports.reference.write import write_reference

    require_no_standard_output(output)
    pages = write_reference(output, context.find_root().command, EXIT_CODES)
    typer.echo(f"Reference in {pages}")
