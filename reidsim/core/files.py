"""Find and read text and TOML files, write new files, check files and free memory before work begins.

Bundled scenarios and populations are at the top of the repository, where people read and copy them. A regular
installation has them inside the package; an editable installation uses the repository.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import stat
import tempfile
import tomllib
import weakref
import zipfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reidsim.core.errors import PRIVATE, InputError, listed, nearest, reading, refuse_first, writing

# Endings of files with typed columns, by program.
STATA, SPSS, SAS, EXCEL = (".dta",), (".sav", ".zsav", ".por"), (".sas7bdat", ".xpt"), (".xlsx", ".xlsm")
TYPED_ENDINGS = (*STATA, *SPSS, *SAS, *EXCEL)
# Endings of compressed files, and of all files of tables.
COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")
TABLE_ENDINGS = (".csv", ".tsv", ".txt", ".tab", ".data", ".gz", ".bz2", ".parquet", *TYPED_ENDINGS)

_MOST_CHARACTERS = 40
_PAGE = 4096
_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3), ("bytes", 1))
# Peak memory of reading a file as a table, as a multiple of its uncompressed content. Parquet: stored, as text, and
# trimmed. Workbooks: the XML parts are larger than their cells.
_PARQUET_COPIES, _WORKBOOK_COPIES = 4, 4
# Memory of a Parquet cell that is read as text, in addition to its content, bytes.
_CELL_BYTES = 24


def is_delimited(path: Path) -> bool:
    """Return whether a file of a table is delimited text, according to the ending of its name."""
    return path.suffix.lower() not in (".parquet", *TYPED_ENDINGS)


class PrivateFolder:
    """A temporary folder that only the user can read, and that is deleted with the object.

    A copy, also one made by pickling, is another folder with the same files.

    Parameters
    ----------
    files : mapping of str to bytes
        Content of the first files, by relative path.

    Attributes
    ----------
    name : str
        Path of the folder.
    """

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        # A TemporaryDirectory would warn when it is deleted with the object.
        self.name = tempfile.mkdtemp(prefix=PRIVATE)
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)
        for name, content in (files or {}).items():
            path = Path(self.name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def __reduce__(self) -> tuple[type[PrivateFolder], tuple[dict[str, bytes]]]:
        folder = Path(self.name)
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return PrivateFolder, (files,)


def plain_name(name: str, taken: Container[str] = ()) -> str:
    """Return a safe file name: characters except letters, digits, - and _ become -.

    Only the first 40 characters are used; an empty name becomes ``-``.

    Parameters
    ----------
    name : str
    taken : container of str
        Names in use; a number is added to a name among them.
    """
    plain = first = re.sub(r"[^\w-]", "-", name[:_MOST_CHARACTERS]) or "-"
    number = 1
    while plain in taken:
        number += 1
        plain = f"{first}-{number}"
    return plain


def require_plain(name: str, where: str) -> None:
    """Check that a name is not a path.

    Raises
    ------
    InputError
        If the name is empty or only dots and spaces, or contains a slash, backslash, colon or character that cannot be
        printed. The message names the key or argument `where`.
    """
    if not name.strip(". ") or not name.isprintable() or any(sign in name for sign in "/\\:"):
        raise InputError("not a valid name", where=where, found=name, expected="letters and digits, without / or \\")


def free_memory(root: Path = Path("/")) -> int | None:
    """Return the memory that this process can still allocate, in bytes.

    It is the minimum of the computer's available memory, the unused part of the limit of the address space
    (``ulimit -v``) and the unused parts of the limits of the process's control groups, as in containers and job
    schedulers. The result is None if the system reports none of them.

    Parameters
    ----------
    root : Path
        Root of the file system with ``proc`` and ``sys``.
    """
    free = list(_free_in_groups(root))
    available = re.search(r"^MemAvailable: +(\d+)", _text(root / "proc/meminfo"), re.MULTILINE)
    if available is not None:
        free.append(int(available[1]) * 1024)
    limit, pages = address_limit(root), _text(root / "proc/self/statm").split()
    if limit is not None and pages:
        free.append(max(limit - int(pages[0]) * _PAGE, 0))
    return min(free, default=None)


def address_limit(root: Path = Path("/")) -> int | None:
    """Return the limit of the address space (``ulimit -v``) in bytes.

    None if there is no limit, or the system does not report it. `root` is the root of the file system with ``proc``.
    """
    allowed = re.search(r"^Max address space +(\d+)", _text(root / "proc/self/limits"), re.MULTILINE)
    return None if allowed is None else int(allowed[1])


def _free_in_groups(root: Path) -> Iterator[int]:
    """Yield the free memory of each control group of this process, in bytes.

    It is the limit of the group minus its used memory, at least 0; groups without a limit are skipped. Versions 1 and 2
    of the interface are supported. `root` is the root of the file system with ``proc`` and ``sys``.
    """
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base, names = root / "sys/fs/cgroup", ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            base, names = root / "sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        group = base / path.lstrip("/")
        # Inside a container, the path is the host's path, and the container's own group is at the base.
        for folder in {base, group, *(parent for parent in group.parents if parent.is_relative_to(base))}:
            limit, used = (_text(folder / name).strip() for name in names)
            if limit.isdigit() and used.isdigit():
                yield max(int(limit) - int(used), 0)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""


def require_memory(needed: int, problem: str, *, free: int | None = None, **place: Any) -> None:
    """Refuse work that needs more than free memory, before its allocation.

    All work passes if the system does not report its free memory.

    Parameters
    ----------
    needed : int
        Memory that the work needs, bytes.
    problem : str
        Text such as ``"file too large for the memory that is free"``.
    free : int, optional
        Free memory before part of it was allocated, bytes; the current free memory if not given.
    **place
        ``source``, ``where`` and ``hint`` of the `InputError`.

    Raises
    ------
    InputError
        If memory is not sufficient; the message states the needed and the free memory.
    """
    free = free_memory() if free is None else free
    if free is not None and needed > free:
        problem = f"{problem}: about {memory_text(needed)} are needed"
        raise InputError(problem, expected=f"at most {memory_text(free)}, the free memory", **place)


def memory_text(size: int) -> str:
    """Return a memory size as text with two or three digits, such as ``"1.3 GB"``."""
    unit, factor = next((unit for unit in _UNITS if size >= unit[1]), _UNITS[-1])
    return f"{size / factor:,.{int(size < 10 * factor and factor > 1)}f} {unit}"


def require_no_device(path: Path) -> None:
    """Refuse a pipe, device or socket, which may be endless.

    A path to nothing passes.

    Raises
    ------
    InputError
        If the path leads to a pipe, device or socket.
    """
    mode = stat.S_IFREG
    with contextlib.suppress(OSError, ValueError):
        mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError("is a pipe, device or socket", source=path, expected="a file")


def is_parquet_folder(path: Path) -> bool:
    """Return whether a path is a folder of Parquet files, which is one table; its name ends with ``.parquet``."""
    return path.suffix == ".parquet" and os.path.isdir(path)


def require_workbook_fits(path: Path) -> None:
    """Refuse a workbook if reading it would need more than the free memory.

    The need is estimated as four times its declared content. A workbook is a zip archive, which declares the size of
    its parts. A damaged archive passes; reading it reports the damage.

    Raises
    ------
    InputError
        If reading the content needs more memory.
    """
    declared = 0
    with contextlib.suppress(OSError, zipfile.BadZipFile, ValueError), zipfile.ZipFile(path) as archive:
        declared = sum(part.file_size for part in archive.infolist())
    require_memory(declared * _WORKBOOK_COPIES, "too large for memory", source=path)


def require_parquet_fits(path: Path, columns: Iterable[str] | None = None, part: float = 1.0) -> None:
    """Refuse a Parquet file that is a device or declares content beyond free memory.

    A damaged file passes; reading it reports the damage.

    Parameters
    ----------
    path : Path
    columns : iterable of str, optional
        Columns to read; all if not given.
    part : float
        Share of the rows that is read.

    Raises
    ------
    InputError
        If the file is a device, or the content of the columns is too large.
    """
    # Import here: every command reads TOML files through this module, but few commands read Parquet.
    import pyarrow as pa
    from pyarrow import parquet

    require_no_device(path)
    wanted = None if columns is None else set(columns)
    needed = 0
    with contextlib.suppress(OSError, pa.ArrowException, ValueError):
        # Use an absolute path: pyarrow interprets a relative path such as hdfs:/people.parquet as a server address.
        about = parquet.read_metadata(path.absolute())
        needed = sum(
            max(column.total_uncompressed_size, column.total_compressed_size, 0) * _PARQUET_COPIES
            + max(group.num_rows, column.num_values, 0) * _CELL_BYTES
            for group in map(about.row_group, range(about.num_row_groups))
            for column in map(group.column, range(group.num_columns))
            if wanted is None or column.path_in_schema.split(".")[0] in wanted
        )
    require_memory(round(needed * part), "too large for memory", source=path)


# Larger text files are refused before they fill memory.
_MOST_BYTES = 32 << 20
# Maximum nesting of sections.
_DEEPEST = 50


def read_json(path: Path) -> Any:
    """Read a JSON file as `read_text` does; return plain data.

    Raises
    ------
    InputError
        If the file cannot be read, is too large, or is not valid JSON.
    """
    text = read_text(path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}", source=path) from None


def read_text(path: Path) -> str:
    """Read a UTF-8 text file of at most 32 MiB, such as a scenario or a manifest.

    Every line end becomes a line feed.

    Raises
    ------
    InputError
        If the file cannot be read, is too large, is not text in UTF-8, or is a pipe, device or socket.
    """
    require_no_device(path)
    with reading(path), path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise InputError("the file is too large", source=path, expected=f"at most {_MOST_BYTES >> 20} MiB")
    try:
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise InputError("not a text file in UTF-8", source=path) from None


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; return its content as plain data.

    Raises
    ------
    InputError
        If the file cannot be read, is not TOML, or has too many or too deeply nested keys. The message names the file
        and, for a syntax error, the line.
    """
    return parse_toml(read_text(path), path)


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Parse the text of a TOML file; `path` is its name in errors. See `read_toml`."""
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # Causes are syntax errors, numbers with thousands of digits, and tables with a thousand levels.
        raise InputError(f"not valid TOML: {error}", source=path) from None
    require_shallow(content, path)
    return content


def require_shallow(content: Mapping[str, Any], source: str | Path) -> None:
    """Check that plain data have at most `_DEEPEST` levels of tables and lists.

    Raises
    ------
    InputError
        If the data are nested too deeply; the message names the top-level key of the nested data.
    """
    level: list[tuple[Any, str]] = [(content, "")]
    for _ in range(_DEEPEST):
        level = [
            (value, name or str(key))
            for table, name in level
            for key, value in (table.items() if isinstance(table, Mapping) else enumerate(table))
            if isinstance(value, dict | list)
        ]
        if not level:
            return
    raise InputError("nested too deep", source=source, where=level[0][1], expected=f"at most {_DEEPEST} levels")


def write_new_file(path: Path, content: bytes | Callable[[str], object]) -> None:
    """Write a new file that appears complete or not at all.

    It is readable only by its owner.

    Parameters
    ----------
    path : Path
        Path of the new file; missing folders are created.
    content : bytes or callable
        Content, or function that writes it to a file with the given name.

    Raises
    ------
    InputError
        If the path exists, or the file cannot be written.
    """
    write = (lambda unfinished: Path(unfinished).write_bytes(content)) if isinstance(content, bytes) else content
    require_new_file(path)
    with writing(path):
        os.replace(unfinished_beside(path, write), path)


def unfinished_beside(path: Path, write: Callable[[str], object], ending: str = "") -> str:
    """Write a temporary file beside `path` and return its name.

    It is readable only by its owner.

    Parameters
    ----------
    path : Path
        Path beside which the file is written; missing folders are created.
    write : callable
        Called with the name of the temporary file; writes its content.
    ending : str
        Suffix of the temporary file's name.

    Raises
    ------
    OSError
        If the file cannot be written; no file remains.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(prefix=f".{path.name}-", suffix=ending, dir=path.parent)
    os.close(handle)
    try:
        write(unfinished)
        with open(unfinished, "rb") as file:
            os.fsync(file.fileno())
    except BaseException:
        # pyarrow itself may have removed a file that it could not finish.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise
    return unfinished


def require_new_file(path: Path) -> None:
    """Check that a path does not exist and its folder can be created.

    This is checked before the computation starts.

    Raises
    ------
    InputError
        If the path exists, is ``-`` or too long, or a folder above it is a file.
    """
    require_no_standard_output(path)
    with writing(path):
        exists, expected = path.exists() or path.is_symlink(), "a new file: nothing is overwritten"
        refuse_first((exists, "exists already", None, None, expected), source=path)
        above = next((folder for folder in path.absolute().parents if folder.exists()), Path())
        refuse_first((not above.is_dir(), "is a file", None, None, "a folder"), source=above)


def require_no_standard_output(path: Path) -> None:
    """Refuse the path ``-`` (standard output) with an `InputError`."""
    expected = "a file or folder name"
    refuse_first((str(path) == "-", "results cannot be written to standard output", None, "-", expected))


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


def show(name: str | Path) -> str:
    """Return the text of the file of a scenario or recipe.

    Parameters
    ----------
    name : str or Path
        Name of a bundled scenario or recipe, or path of a TOML file.

    Raises
    ------
    InputError
        If there is no such file, or it cannot be read.

    See Also
    --------
    schema : JSON Schema of scenario files.

    Examples
    --------
    >>> import reidsim
    >>> print(reidsim.show("wan2015")[:58])
    # Should each record be shared as it is, generalized, or a
    """
    folder = next((folder for folder in BUNDLED_FOLDERS if name in bundled_names(folder)), "scenarios")
    return read_text(resolve(name, folder, "scenario"))


def looks_like_path(text: str) -> bool:
    """Return whether a text is a path, not the name of a bundled file.

    It is a path if it contains a slash or backslash, or ends with ``.toml`` or ``.parquet``.
    """
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
    with reading(path) if is_path else contextlib.suppress(OSError):
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
