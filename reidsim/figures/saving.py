"""Writing a figure so that the same figure gives the same bytes."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from reidsim.errors import writing


def save_figure(figure: Figure, path: str | Path, *, dots_per_inch: int = 160) -> None:
    """Write a figure as PNG, the same bytes every time.

    Parameters
    ----------
    figure : Figure
    path : str or Path
        In a folder that exists; a file that is there is replaced.
    dots_per_inch : int
        160 for print.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    with writing(path):
        # The version of matplotlib is all that would tell two files of the same pixels apart.
        figure.savefig(path, format="png", dpi=dots_per_inch, metadata={"Software": None})
