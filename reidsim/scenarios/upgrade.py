"""Rewriting a scenario of the former form: its text is edited line by line, so that comments and order stay.

What moved is told by `reidsim.scenarios.former_keys`. A key that has no new place is commented out, with what to write
instead. What comes out is loaded before it is written.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reidsim.bundled import resolve
from reidsim.errors import InputError
from reidsim.scenarios.former_keys import FORMER_GAMES, FORMER_KEYS, FormerKey, former_keys
from reidsim.scenarios.kind import DEFAULT_KIND
from reidsim.scenarios.load import load_scenario, scenario_content
from reidsim.validation import read_toml

_FULL_DOMAIN = "full-domain"

KeyPath = tuple[str, ...]


@dataclass(frozen=True)
class Upgraded:
    """A scenario of the present form.

    Parameters
    ----------
    text : str
    changes : tuple of str
        What was rewritten, one sentence each; nothing if it was of the present form.
    """

    text: str
    changes: tuple[str, ...]


@dataclass
class _Statement:
    """A header, or a key with its value; or a line between them.

    Parameters
    ----------
    lines : list of str
        With their ends.
    path : tuple of str
        What it sets, from the root on; empty for lines between statements.
    own : tuple of str
        The key as written: of a header that is all of the path.
    is_header : bool
    value : object
        Of a key.
    dropped : bool
        Whether it is commented out.
    """

    lines: list[str]
    path: KeyPath = ()
    own: KeyPath = ()
    is_header: bool = False
    value: Any = None
    dropped: bool = False
    above: list[str] = field(default_factory=list)


def upgraded(path: Path) -> Upgraded:
    """Return the text of a scenario in the present form; nothing is written.

    Parameters
    ----------
    path : Path
        The scenario's file.

    Raises
    ------
    InputError
        If it cannot be read, or extends one that is of the former form.
    """
    content = read_toml(path)
    _check_base(content, path)
    merged = scenario_content(path)
    game = str(merged.get("game", DEFAULT_KIND))
    # As it is on disk, ends of lines included.
    text = path.read_bytes().decode("utf-8")
    end = "\r\n" if "\r\n" in text else "\n"
    editor = _Editor(list(_statements(text)), DEFAULT_KIND if game in FORMER_GAMES else game, end)
    if content.get("game") in FORMER_GAMES:
        editor.drop_game()
    editor.move_keys()
    editor.drop_empty_sections()
    if content.get("game") == _FULL_DOMAIN:
        editor.put("publisher", {"unit": '"table"', "safe_class": '"above"'}, content)
        if "risk" not in merged.get("adversary", {}):
            editor.put("adversary", {"risk": '"prosecutor"'}, content)
    return Upgraded(editor.text(), tuple(dict.fromkeys(editor.changes)))


def write_upgraded(path: Path, output: Path | None = None) -> Upgraded:
    """Rewrite a scenario in the present form, at once or not at all.

    Parameters
    ----------
    path : Path
        The scenario's file.
    output : Path, optional
        New file; in place, if not given.

    Returns
    -------
    Upgraded
        If there are no changes and no other file was asked for, nothing was written.

    Raises
    ------
    InputError
        If it cannot be read, is not a scenario even when rewritten, or cannot be written; the file is then as it was.
    """
    result = upgraded(path)
    target = path if output is None else output
    in_place = output is None or (output.exists() and path.samefile(output))
    if not in_place and (target.exists() or target.is_symlink()):
        raise InputError("exists already", source=target, expected="a new file: only FILE itself is rewritten")
    unfinished = None
    try:
        real = target.resolve() if in_place else target
        handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=".toml", dir=real.parent)
        unfinished = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(result.text)
            file.flush()
            os.fsync(file.fileno())
        _require_loads(unfinished, path)
        if in_place and not result.changes:
            return result
        shutil.copymode(path, unfinished)
        unfinished.replace(real)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", source=target) from None
    finally:
        if unfinished is not None:
            unfinished.unlink(missing_ok=True)
    return result


def require_upgrades(path: Path) -> Upgraded:
    """Return the text of a scenario in the present form as `upgraded` does, after loading it."""
    result = upgraded(path)
    with tempfile.TemporaryDirectory() as folder:
        unfinished = Path(folder) / path.name
        text = result.text
        # What it extends stands beside the file.
        base = read_toml(path).get("extends")
        if isinstance(base, str):
            text = text.replace(base, str(resolve(base, "scenarios", "scenario", base=path.parent).absolute()), 1)
        unfinished.write_text(text, encoding="utf-8", newline="")
        _require_loads(unfinished, path)
    return result


def _require_loads(unfinished: Path, path: Path) -> None:
    try:
        # Nothing that it names is imported by that.
        load_scenario(unfinished, allow_code=True)
    except InputError as error:
        raise InputError(
            f"cannot be used even when rewritten: {error.problem}", source=path, where=error.where, found=error.found,
            expected=error.expected, hint=error.hint,
        ) from None  # fmt: skip


def _check_base(content: dict[str, Any], path: Path) -> None:
    extends = content.get("extends")
    if not isinstance(extends, str):
        return
    base = resolve(extends, "scenarios", "scenario", base=path.parent)
    below = scenario_content(base, (path.resolve(),))
    game = str(below.get("game", DEFAULT_KIND))
    if game in FORMER_GAMES or former_keys(below, game):
        raise InputError(
            "the scenario that it extends is of the former form", source=path, where="extends", found=extends,
            expected=f"`reidsim upgrade {base}` first",
        )  # fmt: skip


class _Editor:
    """Edits the statements of a scenario."""

    def __init__(self, statements: list[_Statement], game: str, end: str) -> None:
        self.statements, self.end = statements, end
        self.changes: list[str] = []
        self._former = [former for former in FORMER_KEYS if former.game in (game, "*")]
        self._noted: set[str] = set()

    def text(self) -> str:
        """Return the edited text."""
        return "".join("".join((*statement.above, *statement.lines)) for statement in self.statements)

    def drop_game(self) -> None:
        """Remove the key ``game``, and keep what is said beside it."""
        for statement in self.statements:
            if statement.path == ("game",):
                comment = _comment_of("".join(statement.lines))
                statement.lines = [comment + self.end] if comment else []
                statement.dropped = True
                self.changes.append(f"game = {statement.value!r} left out: records and whole tables are of one kind")

    def move_keys(self) -> None:
        """Rename what has a new place, and comment out what has none."""
        for statement in self.statements:
            former = self._found(statement.path)
            if former is None:
                continue
            below = self._below(statement)
            if not former.now:
                self._comment_out(statement, former)
            elif below and any(not inner.now for inner in below):
                # Its value holds keys of both sorts: the reader must sort them.
                for inner in below:
                    self._comment_out(statement, inner)
            else:
                self._rename(statement, former)

    def drop_empty_sections(self) -> None:
        """Comment out headers below which everything was commented out."""
        for number, header in enumerate(self.statements):
            if not header.is_header or header.dropped:
                continue
            inside = []
            for statement in self.statements[number + 1 :]:
                if statement.is_header:
                    break
                inside += [statement] if statement.path else []
            others = [
                other for other in self.statements if other is not header and other.is_header and not other.dropped
                and other.path[: len(header.path)] == header.path
            ]  # fmt: skip
            if inside and all(statement.dropped for statement in inside) and not others:
                header.lines = [_commented(line) for line in header.lines]
                header.dropped = True

    def put(self, section: str, values: dict[str, str], content: dict[str, Any]) -> None:
        """Add keys to a section that do not stand there, and the section if it is absent."""
        there = content.get(section, {})
        lines = {key: f"{key} = {value}" for key, value in values.items() if key not in there}
        if not lines:
            return
        self.changes += [f"{section}.{line}" for line in lines.values()]
        for statement in self.statements:
            if statement.path == (section,) and statement.is_header:
                statement.lines[-1] = statement.lines[-1].rstrip("\r\n") + self.end
                statement.lines += [line + self.end for line in lines.values()]
                return
            if statement.path == (section,):
                text, more = "".join(statement.lines), ", ".join(lines.values())
                at = text.index("{", text.index("=")) + 1
                statement.lines = [f"{text[:at]} {more}{',' if there else ''}{text[at:] if there else ' ' + text[at:]}"]
                return
            if statement.path[:1] == (section,) and not statement.is_header and len(statement.own) > 1:
                statement.above = [f"{section}.{line}{self.end}" for line in lines.values()] + statement.above
                return
        if self.statements:
            self.statements[-1].lines[-1:] = [line.rstrip("\r\n") + self.end for line in self.statements[-1].lines[-1:]]
        added = [self.end, f"[{section}]{self.end}", *(line + self.end for line in lines.values())]
        self.statements.append(_Statement(added, (section,), (section,), is_header=True))

    def _found(self, path: KeyPath) -> FormerKey | None:
        """Return what is known of a key, or of one that it is below; the longest path comes first."""
        return next(
            (former for former in self._former if path and path[: former.key.count(".") + 1] == _parts(former.key)),
            None,
        )

    def _below(self, statement: _Statement) -> list[FormerKey]:
        """Return the former keys that the value of a statement holds."""
        content: Any = {}
        if not statement.is_header and isinstance(statement.value, dict):
            content = statement.value
            for part in reversed(statement.path):
                content = {part: content}
        at = ".".join(statement.path)
        return [former for former in self._former if former.key.startswith(f"{at}.") and _holds(content, former.key)]

    def _rename(self, statement: _Statement, former: FormerKey) -> None:
        now, was = _parts(former.now), _parts(former.key)
        line = statement.lines[0]
        here = len(statement.path) - len(statement.own)
        if here < len(was):
            # The key as written holds the end of the former path; what stands before it is of the header.
            old = _written(line, was[here:])
            new = ".".join(now[here:])
            statement.lines[0] = line.replace(old, new, 1)
        if f"{former.key}" not in self._noted:
            self._noted.add(former.key)
            self.changes.append(f"{former.key} is now {former.now}")

    def _comment_out(self, statement: _Statement, former: FormerKey) -> None:
        if not statement.dropped:
            statement.lines = [_commented(line) for line in statement.lines]
            statement.dropped = True
        if former.key not in self._noted:
            self._noted.add(former.key)
            statement.above.append(f"# Formerly {former.key}; now {former.now or former.instead}{self.end}")
            self.changes.append(f"{former.key} is commented out: write {former.now or former.instead}")


def _statements(text: str) -> Iterator[_Statement]:
    """Yield what a valid TOML text is made of, in order."""
    section: KeyPath = ()
    gathered: list[str] = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if not gathered and (not line.strip() or line.lstrip().startswith("#")):
            yield _Statement([line])
            continue
        if not gathered and line.lstrip().startswith("["):
            section = _only_path(tomllib.loads(line))
            yield _Statement([line], section, section, is_header=True)
            continue
        gathered.append(line)
        try:
            found = tomllib.loads("".join(gathered))
        except tomllib.TOMLDecodeError:
            # A value that goes on in the next line.
            continue
        own = _key("".join(gathered))
        value: Any = found
        for part in own:
            value = value[part]
        yield _Statement(gathered, (*section, *own), own, value=value)
        gathered = []


def _only_path(content: Any) -> KeyPath:
    """Return the path of a header that was parsed alone."""
    path: list[str] = []
    while content:
        if isinstance(content, list):
            content = content[0]
            continue
        ((name, content),) = content.items()
        path.append(name)
    return tuple(path)


def _key(text: str) -> KeyPath:
    """Return the key of a statement, as a path."""
    for match in re.finditer("=", text):
        try:
            content: Any = tomllib.loads(f"{text[: match.start()]}= 0")
        except tomllib.TOMLDecodeError:
            # Inside a quoted key.
            continue
        path: list[str] = []
        while isinstance(content, dict):
            ((name, content),) = content.items()
            path.append(name)
        return tuple(path)
    raise AssertionError(text)


def _written(line: str, parts: KeyPath) -> str:
    """Return how a line writes a key path: with spaces or quotes, as TOML allows."""
    quoted = [rf"""["']?{re.escape(part)}["']?""" for part in parts]
    match = re.search(r"\s*\.\s*".join(quoted), line)
    assert match is not None, line  # noqa: S101 - the path was read from it
    return match[0]


def _comment_of(text: str) -> str:
    """Return the comment after a value, empty if there is none."""
    for match in re.finditer("#", text):
        try:
            tomllib.loads(text[: match.start()])
        except tomllib.TOMLDecodeError:
            continue
        return text[match.start() :].rstrip()
    return ""


def _commented(line: str) -> str:
    return f"# {line}" if line.strip() else line


def _parts(key: str) -> KeyPath:
    return tuple(key.split("."))


def _holds(content: Any, key: str) -> bool:
    for part in key.split("."):
        if not isinstance(content, dict) or part not in content:
            return False
        content = content[part]
    return True
