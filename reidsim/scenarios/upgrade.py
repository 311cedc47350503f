"""Rewriting a scenario of the former form: its text is edited line by line, so that comments and order stay.

What moved is told by `reidsim.scenarios.former_keys`. A key that has no new place is commented out, with what to write
instead. What comes out is loaded before it is written.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reidsim.bundled import resolve
from reidsim.errors import InputError
from reidsim.scenarios.asked import section
from reidsim.scenarios.former_keys import FORMER_GAMES, FORMER_KEYS, FormerKey, former_keys, holds
from reidsim.scenarios.load import load_scenario, scenario_content
from reidsim.scenarios.registry import DEFAULT_KIND
from reidsim.scenarios.toml_statements import (
    KeyPath,
    Statement,
    comment_of,
    sections_of,
    statements_of,
    written_path,
)
from reidsim.toml_text import inline_toml, toml_key
from reidsim.validation import read_toml

_FULL_DOMAIN = "full-domain"


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
    editor = _Editor(list(statements_of(text)), DEFAULT_KIND if game in FORMER_GAMES else game, end)
    if content.get("game") in FORMER_GAMES:
        editor.drop_game()
    editor.move_keys()
    editor.rename_in_designs()
    editor.join_sections()
    editor.drop_empty_sections()
    if content.get("game") == _FULL_DOMAIN:
        policies = section(merged, "publisher").get("policies", ["no-attack"])
        forbids = any("no-attack" in str(policy) for policy in policies)
        editor.put("publisher", {"unit": '"table"'} | ({"safe_class": '"above"'} if forbids else {}), content)
        if "risk" not in merged.get("adversary", {}):
            editor.put("adversary", {"risk": '"prosecutor"'}, content)
    _play_rounds_as_before(editor, merged)
    return Upgraded(editor.text(), tuple(dict.fromkeys(editor.changes)))


def _play_rounds_as_before(editor: _Editor, merged: dict[str, Any]) -> None:
    """Say what former types of adversaries meant without saying it: that there are rounds, and who infers nothing."""
    types = section(section(merged, "agents"), "types")
    if types and set(merged["agents"]) == {"types"}:
        editor.put("agents", {"rounds": "1"}, {})
    stages = section(merged, "adversary").get("stages")
    if not (isinstance(stages, list) and all(isinstance(stage, dict) for stage in stages) and len(stages) > 1):
        return
    # Types that were said to attack once linked on what is shared alone.
    inferred = [stage.get("infers", "surname") for stage in stages[:-1]]
    on, resource = stages[-1].get("on"), inline_toml(stages[-1].get("resource", ""))
    shared = inline_toml([name for name in on if name not in inferred] if isinstance(on, list) else [])
    for name in types:
        if section(types, name).get("planner") == "one-shot":
            line = f'stages = [{{ stage = "identify", resource = {resource}, on = {shared} }}]'
            editor.add(("adversaries", name), line)


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
        raise error.but(problem=f"cannot be used even when rewritten: {error.problem}", source=path) from None


def _check_base(content: dict[str, Any], path: Path) -> None:
    extends = content.get("extends")
    if not isinstance(extends, str):
        return
    base = resolve(extends, "scenarios", "scenario", base=path.parent)
    below = scenario_content(base, (path.resolve(),))
    game = str(below.get("game", DEFAULT_KIND))
    if game in FORMER_GAMES or former_keys(below, game):
        raise InputError(
            "the scenario that it extends is of a former version", source=path, where="extends", found=extends,
            expected=f"`reidsim upgrade {base}` first",
        )  # fmt: skip


class _Editor:
    """Edits the statements of a scenario."""

    def __init__(self, statements: list[Statement], game: str, end: str) -> None:
        self.statements, self.end = statements, end
        self.changes: list[str] = []
        self._former = [former for former in FORMER_KEYS if former.game == game]
        self._noted: set[str] = set()

    def text(self) -> str:
        """Return the edited text."""
        return "".join("".join((*statement.above, *statement.lines)) for statement in self.statements)

    def drop_game(self) -> None:
        """Remove the key ``game``, and keep what is said beside it."""
        for statement in self.statements:
            if statement.path == ("game",):
                comment = comment_of("".join(statement.lines))
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
            elif self._moves_elsewhere(statement, former):
                self._move(statement, former)
            else:
                self._rename(statement, former)

    def rename_in_designs(self) -> None:
        """Rename keys that sweeps, distributions and stress tests are about."""
        for statement in self.statements:
            if statement.path[:1] not in (("sweep",), ("uncertainty",), ("stress",)):
                continue
            for former in self._former:
                was, now = "".join(statement.lines), ""
                if former.now:
                    now = re.sub(rf"""(["']){re.escape(former.key)}\.""", rf"\g<1>{former.now}.", was)
                if now not in ("", was):
                    statement.lines = [now]
                    self._note(former)

    def join_sections(self) -> None:
        """Put what stands below a header that is there twice below the first of them."""
        first: dict[KeyPath, Statement] = {}
        for header in [each for each in self.statements if each.is_header and not each.dropped]:
            if header.lines[0].lstrip().startswith("[[") or first.setdefault(header.path, header) is header:
                continue
            start = self.statements.index(header)
            end = next((n for n in range(start + 1, len(self.statements)) if self.statements[n].is_header), None)
            moved = [each for each in self.statements[start + 1 : end] if "".join(each.lines).strip()]
            if comment := comment_of(header.lines[0]):
                moved.insert(0, Statement([comment + self.end]))
            del self.statements[start:end]
            self._insert_below(first[header.path], moved)

    def _insert_below(self, header: Statement, statements: list[Statement]) -> None:
        """Put statements after the last key of a section."""
        place = self.statements.index(header)
        for number in range(place + 1, len(self.statements)):
            if self.statements[number].is_header:
                break
            if self.statements[number].path:
                place = number
        self._end_line(self.statements[place])
        self.statements[place + 1 : place + 1] = statements

    def _moves_elsewhere(self, statement: Statement, former: FormerKey) -> bool:
        """Tell whether a key stands below a header that stays, so that its new place is below another."""
        here = len(statement.path) - len(statement.own)
        was, now = _parts(former.key), _parts(former.now)
        return 0 < here < len(was) and was[:here] != now[:here] and self._found(was[:here]) is None

    def _move(self, statement: Statement, former: FormerKey) -> None:
        """Write a key, or the keys that its value holds, below a header of their own."""
        path = (*_parts(former.now), *statement.path[former.key.count(".") + 1 :])
        for place, keys in sections_of(path, statement.value):
            below = [Statement([f"{key} = {inline_toml(value)}{self.end}"], (*place, key), (key,), value=value)
                     for key, value in keys.items()]  # fmt: skip
            self._insert_below(self._header(place), below)
        statement.lines, statement.dropped = [], True
        self._note(former)

    def add(self, section: KeyPath, line: str) -> None:
        """Add a line to a section, and the section if it is absent."""
        self._insert_below(self._header(section), [Statement([line + self.end], section, section[-1:])])
        self.changes.append(f"{'.'.join(section)}.{line}")

    def _header(self, section: KeyPath) -> Statement:
        """Return the header of a section, added at the end if there is none."""
        header = next((e for e in self.statements if e.is_header and not e.dropped and e.path == section), None)
        if header is None:
            written = ".".join(map(toml_key, section))
            self._end_line(self.statements[-1])
            header = Statement([f"[{written}]{self.end}"], section, section, is_header=True)
            self.statements += [Statement([self.end]), header]
        return header

    def _end_line(self, statement: Statement) -> None:
        """Let the last line of a statement, if it has any, end as all lines do: the last one of a file may not."""
        statement.lines[-1:] = [line.rstrip("\r\n") + self.end for line in statement.lines[-1:]]

    def _note(self, former: FormerKey) -> None:
        if former.key not in self._noted:
            self._noted.add(former.key)
            self.changes.append(f"{former.key} is now {former.now}")

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
                self._end_line(statement)
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
        self._header((section,)).lines += [line + self.end for line in lines.values()]

    def _found(self, path: KeyPath) -> FormerKey | None:
        """Return what is known of a key, or of one that it is below; the longest path comes first."""
        return next(
            (former for former in self._former if path and path[: former.key.count(".") + 1] == _parts(former.key)),
            None,
        )

    def _below(self, statement: Statement) -> list[FormerKey]:
        """Return the former keys that the value of a statement holds."""
        content: Any = {}
        if not statement.is_header and isinstance(statement.value, dict):
            content = statement.value
            for part in reversed(statement.path):
                content = {part: content}
        at = ".".join(statement.path)
        return [former for former in self._former if former.key.startswith(f"{at}.") and holds(content, former.key)]

    def _rename(self, statement: Statement, former: FormerKey) -> None:
        now, was = _parts(former.now), _parts(former.key)
        line = statement.lines[0]
        here = len(statement.path) - len(statement.own)
        if here < len(was):
            # The key as written holds the end of the former path; what stands before it is of the header.
            old = written_path(line, was[here:])
            new = ".".join(now[here:])
            statement.lines[0] = line.replace(old, new, 1)
            statement.path = (*now, *statement.path[len(was) :])
        self._note(former)

    def _comment_out(self, statement: Statement, former: FormerKey) -> None:
        if not statement.dropped:
            statement.lines = [_commented(line) for line in statement.lines]
            statement.dropped = True
        if former.key not in self._noted:
            self._noted.add(former.key)
            statement.above.append(f"# Formerly {former.key}; now {former.now or former.instead}{self.end}")
            self.changes.append(f"{former.key} is commented out: write {former.now or former.instead}")


def _commented(line: str) -> str:
    return f"# {line}" if line.strip() else line


def _parts(key: str) -> KeyPath:
    return tuple(key.split("."))
