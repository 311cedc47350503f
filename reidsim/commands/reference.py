"""The command that writes the reference pages of the documentation, and the exit codes that they list."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


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


EXIT_CODES = {
    0: "done; there may be warnings on standard error",
    2: "the command, an option, the scenario or a file is wrong, or the output cannot be written",
    130: "interrupted (Ctrl-C); no results folder is left behind, except that of a batch",
    141: "the reader of a pipe closed it, as in `reidsim list | head -1`; files are written all the same",
    143: "ended by SIGTERM (`kill`, a job scheduler, a container that is stopped); otherwise as 130",
}
