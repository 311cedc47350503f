"""Writing a figure so that the same figure gives the same bytes."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from reidsim.errors import InputError


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG with 150 dots per inch, the same bytes every time.

    Parameters
    ----------
    figure : Figure
    path : str or Path
        In a folder that exists; a file that is there is replaced.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    try:
        # The version of matplotlib is all that would tell two files of the same pixels apart.
        figure.savefig(path, format="png", dpi=150, metadata={"Software": None})
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", source=path) from None
