"""Links and pipes in a results folder: files that others sent must not lead elsewhere, nor have no end."""

from __future__ import annotations

import os
from pathlib import Path

from reidsim.errors import InputError, reading
from reidsim.file_sizes import require_no_device

# Subfolders whose files are read or replaced, besides the files of the folder itself.
_READ = ("figures",)


def require_no_links(folder: Path) -> None:
    """Check that no file of a results folder is a symbolic link, pipe or device; the folder itself may be a link.

    What a link leads to would be read into a report, or overwritten by a batch that goes on.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    InputError
        Names the first of them.
    """
    with reading(folder):
        for place in (folder, *(folder / name for name in _READ)):
            for path in sorted(place.iterdir()) if place.is_dir() else ():
                if path.is_symlink():
                    raise InputError(
                        "is a link, which is not followed out of a results folder",
                        source=path,
                        found=os.readlink(path),
                        expected="a file of the folder itself",
                        hint="copy the file into the folder",
                    )
                require_no_device(path)
