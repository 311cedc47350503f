"""Find the scenarios and populations that are bundled with reidsim.

Both folders are at the top of the repository, where people read and copy them. A regular installation has them inside
the package; an editable installation uses the repository.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path

from reidsim.core.errors import InputError, listed, nearest, reading
from reidsim.core.files import TABLE_ENDINGS
from reidsim.core.validation import read_toml

# Prefix of the path of a bundled file.
BUNDLED = "bundled:"

# Bundled folders, and the kind of their files. If several folders have a name, the first one counts.
BUNDLED_FOLDERS = {
    "scenarios": "scenarios",
    "populations": "populations",
    "populations/knowledge": "background knowledge",
}

_PACKAGE = Path(__file__).resolve().parents[1]


def bundled_folder(name: str) -> Path:
    """Return the path of a bundled folder.

    The folder is ``scenarios``, ``populations`` or one below. It is inside the package if it exists there, otherwise at
    the top of the repository.
    """
    installed = _PACKAGE / "bundled" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def data_file(text: str, folder: Path, among: str) -> Path:
    """Return the path of a file that a scenario or recipe names.

    The path is relative to `folder`. With the prefix ``bundled:``, it is relative to the bundled folder `among`
    (``scenarios`` or ``populations``), so a copy of a bundled scenario or recipe works in any folder.
    """
    if text.startswith(BUNDLED):
        return bundled_folder(among) / text.removeprefix(BUNDLED)
    return folder / text


def bundled_names(folder: str) -> list[str]:
    """Return the names of the bundled TOML files in a folder, without endings."""
    return sorted(path.stem for path in bundled_folder(folder).glob("*.toml"))


def bundled_titles() -> dict[str, dict[str, str]]:
    """Return the titles of bundled files: name to title, by kind of file.

    Kinds are ``scenarios``, ``populations``, ``background knowledge`` and ``social media``. A title may be empty.
    """
    titles: dict[str, dict[str, str]] = {heading: {} for heading in (*BUNDLED_FOLDERS.values(), "social media")}
    for folder, kind in BUNDLED_FOLDERS.items():
        for name in bundled_names(folder):
            content = read_toml(resolve(name, folder, folder))
            heading = "social media" if content.get("kind") == "social-media" else kind
            titles[heading][name] = content.get("title", "")
    return titles


def looks_like_path(text: str) -> bool:
    """Return whether the name of a bundled file or path is a path: it has a slash or the ending of a recipe."""
    return text.endswith((".toml", ".parquet")) or "/" in text or "\\" in text


def resolve(name_or_path: str | Path, folder: str, kind: str, *, base: Path | None = None) -> Path:
    """Return the path of a TOML file, given its path or bundled name.

    Text with a slash, or with the ending ``.toml`` or ``.parquet``, is a path, relative to `base` if given. Other text
    is the name of a bundled file in `folder`. `kind` names the kind of file in messages.

    Raises
    ------
    InputError
        If the file or bundled name does not exist, is a folder or cannot be read, or a table is given in place of a
        scenario.
    """
    text = str(name_or_path)
    is_table = kind == "scenario" and text.endswith(TABLE_ENDINGS)
    is_path, as_path = is_table or looks_like_path(text), (base or Path()) / text
    path = as_path if is_path else bundled_folder(folder) / f"{text}.toml"
    # The name of a bundled file may be longer than any path.
    with reading(path) if is_path else suppress(OSError):
        if path.is_file() and not is_table:
            return path
    expected, is_folder = f"a {kind} file (TOML)", text and os.path.isdir(as_path)
    if text and os.path.isfile(as_path):
        hint = f"run reidsim new {shlex.quote(text)} to draft a scenario" if is_table else None
        raise InputError(f"not {expected}", source=as_path, hint=hint)
    if is_path or is_folder:
        raise InputError("is a folder" if is_folder else "no such file", source=as_path, expected=expected)
    names = bundled_names(folder)
    expected, hint = f"one of {listed(names)}, or a file", nearest(text, names)
    raise InputError(f"no bundled {kind} of this name", found=text, expected=expected, hint=hint)
