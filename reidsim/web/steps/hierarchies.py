"""Step *Hierarchies*: the levels of each quasi-identifier, with counts, to edit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import solara

from reidsim.core.errors import InputError
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy, whole_numbers
from reidsim.web.parts import Panel, tree
from reidsim.web.session import Session
from reidsim.web.steps.file import show_upload

# Largest number of values of a group that are shown, and of groups at the level that is shown first.
_MOST_VALUES, _MOST_GROUPS = 200, 40


@solara.component
def Step(session: Session, version: int, refresh: Callable[[], None], go: Callable[[str], None]) -> None:  # noqa: N802
    """Show the hierarchy of a quasi-identifier, and what can be changed in it."""
    panel = Panel("hierarchies", session, refresh)
    names, missing = list(session.sections), session.uncovered()
    chosen: solara.Reactive[str] = solara.use_reactive("")
    name = chosen.value or names[0]

    def choose(_: str, value: str) -> None:
        # Its errors are about the column shown before.
        panel.forget()
        chosen.set(value)

    panel.text("intro")
    for column, values in missing.items():
        shown = ", ".join(values[:20]) + ", ..." * (len(values) > 20)
        panel.text("uncovered", "error", column=column, number=len(values), values=shown)
    panel.form([panel.select("column", name, names)], choose)
    panel.busy(panel.pending, "changing")
    if name not in missing:
        _Levels(session=session, name=name, panel=panel).key(name)
    panel.text("files", "title")
    label = panel.t("hierarchies", column=name)
    show_upload(panel, "hierarchies", label, ".csv", lambda file: session.read_hierarchy(name, session.inside(file)))
    link = panel.t("download", column=name)
    download = panel.field("download", f"/desk/files/hierarchy-of/{quote(name)}", "link", label=link)
    panel.form([download, panel.button("go", main=True, disabled=bool(missing))], lambda *_: go("game"))


@solara.component
def _Levels(session: Session, name: str, panel: Panel) -> None:  # noqa: N802
    """Show the levels of a hierarchy with counts, the groups of a level as a tree, and the changes of the level."""
    state: solara.Reactive[dict[str, Any]] = solara.use_reactive({})
    found, _ = panel.computed(lambda: session.counts(name), [name, session.scenario], "changing")
    if found is None:
        return
    levels = found.groupby("level")
    sizes = [levels["group"].nunique(), levels["people"].min(), levels["people"].max()]
    rows = [[level, *(f"{each[level]:,}" for each in sizes)] for level in range(len(sizes[0]))]
    header = [panel.t(key) for key in ("level", "groups", "smallest", "largest")]
    panel.table(panel.t("levels", column=name), header, rows)
    last = len(rows) - 1
    if last < 2:
        panel.text("nothing_to_edit")
        return
    first = next((level for level in range(1, last) if sizes[0][level] <= _MOST_GROUPS), last - 1)
    given = {"level": first, "groups": [], "values": [], "name": "", "points": "", **state.value}
    level, groups, values = min(int(given["level"]), last - 1), given["groups"], given["values"]
    labels = found.loc[found["level"] == level, "group"].tolist()
    to, below = given.get("to", labels[0]), found[found["level"] == level - 1]
    points = [each.strip() for each in given["points"].split(",")]
    merged = below.loc[below["above"].isin(groups), "group"].tolist()

    def merge(hierarchy: Hierarchy) -> Hierarchy:
        name = given["name"].strip() or " or ".join(groups)
        if name in {*labels, SUPPRESSED}.difference(groups):
            expected = "another name, or the group of this name chosen as well"
            raise InputError("the name stands for other values", where="name", found=name, expected=expected)
        return hierarchy.regroup(level, merged, name)

    edits: dict[str, Callable[[Hierarchy, Any], Hierarchy]] = {
        "merge": lambda each, _: merge(each),
        "move": lambda each, _: each.regroup(level, values, to),
        "drop": lambda each, sent: each.regroup(level, [sent["value"]], sent["to"]),
        "cut": lambda each, _: each.cut(level, whole_numbers(each.attribute, points)),
    }

    def change(key: str, value: Any) -> None:
        if key in edits:
            # The button of a move shows the errors of dragged values, too.
            place = "move" if key == "drop" else key
            panel.act(place, lambda: session.edit_hierarchy(name, lambda each: edits[key](each, value)))
        # Check boxes of the tree add a label to the chosen ones, or remove it.
        changed = sorted(set(given[key]) ^ {value}) if key in ("groups", "values") else value
        # Another level has other groups.
        others = {} if key == "level" else state.value
        state.set({"level": level} if key in edits else {**others, key: changed})

    panel.form([panel.select("level", str(level), [str(each) for each in range(1, last)])], change)
    panel.text("tree_help", "help")
    notes = {key: panel.t(key, values="{values}", records="{records}") for key in ("group_note", "records")}
    few = below.groupby("above").head(_MOST_VALUES)
    shown = {"groups": found[found["level"] == level].to_dict("records"), "below": few.to_dict("records")}
    tree(
        shown={"label": panel.t("tree", level=level), "chosen": groups, "values": values, **notes, **shown},
        event_send=lambda sent: change(sent["key"], sent["value"]),
    )
    fields = [
        panel.field("name", given["name"]),
        panel.button("merge", disabled=len(groups) < 2),
        panel.select("to", to, labels),
        panel.button("move", disabled=not values),
    ]
    if all(map(str.isdecimal, filter(None, found.loc[found["level"] == 0, "group"]))):
        fields += [panel.field("points", given["points"]), panel.button("cut", disabled=not given["points"])]
    panel.form(fields, change, "edit")
