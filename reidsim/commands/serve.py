"""The command that shows a scenario as a web page."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

from reidsim.commands.arguments import AllowCodeOption, SetOption, load, waiting


def serve(
    scenario: Annotated[
        str,
        typer.Argument(help="Scenario in which somebody decides: a bundled name or a TOML file.", metavar="SCENARIO"),
    ] = "wan2015",
    set_: SetOption = None,
    port: Annotated[int, typer.Option(help="Port on this machine; 0 for any that is free.", min=0, max=65_535)] = 8765,
    allow_code: AllowCodeOption = False,
) -> None:
    """Show a scenario as a page in the browser, on this machine only; needs the extra web.

    Example: reidsim serve wan2015 --port 8765

    Example: reidsim serve mine.toml
    """
    loaded = load(scenario, set_, allow_code=allow_code)
    with ExitStack() as starting:
        starting.enter_context(waiting(f"opening {scenario}"))
        from reidsim.web.server import serve as run_server

        def tell(address: str) -> None:
            starting.close()
            typer.echo(f"{loaded.name} at {address} (Ctrl-C to stop)")

        run_server(loaded, port, tell)
