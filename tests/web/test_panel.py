"""Changes that a step of the page makes in the background, one after the other."""

import threading
import time
from pathlib import Path

import pandas as pd
import pytest

solara = pytest.importorskip("solara", reason="needs the extra web")

import reidsim.web  # noqa: E402
from reidsim.core.errors import InputError  # noqa: E402
from reidsim.web import page  # noqa: E402
from reidsim.web.parts import Panel, language, said  # noqa: E402
from reidsim.web.session import Session  # noqa: E402
from reidsim.web.steps import file, game, hierarchies, share  # noqa: E402

EXAMPLE = Path(reidsim.web.__file__).with_name("hospital.csv")


def wait_until(holds):
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("steps", [("share", "share"), ("share", "columns")])
def test_an_error_stays_if_an_earlier_task_made_the_change(tmp_path, steps):
    session, may_end, panels = Session(tmp_path), threading.Event(), {}

    @solara.component
    def Step():  # noqa: N802
        for number, step in enumerate(steps):
            panels[number] = Panel(step, session, lambda: None)
        solara.Text(str([each.pending for each in panels.values()]))

    def refused():
        raise InputError("refused", hint="options of commands such as --drop are not on the page")

    solara.render(Step(), handle_error=False)
    panels[0].act("first", lambda: may_end.wait(60))
    wait_until(lambda: session.changing.locked() and not session.changes)
    # The task of the first change makes the second one as well.
    panels[1].act("second", refused)
    may_end.set()
    wait_until(lambda: not any(each.pending for each in panels.values()))
    assert panels[1].problem("second") == "refused"


def test_the_policy_chosen_a_moment_ago_is_written(tmp_path, monkeypatch):
    session, written, sent = Session(tmp_path), [], []
    session.take(EXAMPLE)
    monkeypatch.setattr(session, "recommended", lambda chosen: ("basic", "basic", None))
    monkeypatch.setattr(session, "write_release", written.append)
    monkeypatch.setattr(Panel, "form", lambda self, fields, change=None, *more, **others: sent.append(change))
    solara.render(share.Step(session, 0, lambda: None, print), handle_error=False)
    wait_until(lambda: len(sent) > 1)
    choose_and_write = sent[-1]
    choose_and_write("policy", "no-protection")
    choose_and_write("write", True)
    wait_until(lambda: written)
    assert written == ["no-protection"]


def test_a_change_of_another_page_is_shown_before_files_are_written(tmp_path, monkeypatch):
    session, written, forms = Session(tmp_path), [], {}
    session.take(EXAMPLE)
    monkeypatch.setattr(session, "recommended", lambda chosen: ("basic", "basic", None))
    monkeypatch.setattr(session, "write_release", written.append)

    def form(self, fields, change=None, *more, **others):
        forms.setdefault(self._page, []).append((fields[-1]["error"], change))

    monkeypatch.setattr(Panel, "form", form)
    for _ in range(2):
        solara.render(share.Step(session, 0, lambda: None, print), handle_error=False)
    first, second = forms.values()
    second[-1][1]("policy", "no-protection")
    wait_until(lambda: session.signature)
    first[-1][1]("write", True)
    wait_until(lambda: "changed in another page" in first[-1][0])
    assert written == []
    first[-1][1]("write", True)
    wait_until(lambda: written)
    assert written == ["no-protection"]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "No-attack: 40 records have no strategy that satisfies the constraint and are withheld"),
        pytest.param("de", "Spiel ohne Angriff: 40 Datensätze ohne zulässige Strategie", marks=pytest.mark.deep),
    ],
)
def test_warnings_of_a_run_are_shown_with_its_decision(tmp_path, monkeypatch, code, text):
    session, path, shown = Session(tmp_path), tmp_path / "people.csv", []
    pd.DataFrame({"age": range(20, 60), "sex": ["F", "M"] * 20}).to_csv(path, index=False)
    session.take(path)
    monkeypatch.setattr(Panel, "pictures", lambda *_: None)
    monkeypatch.setattr(game, "_Comparison", lambda **_: solara.Text("comparison"))
    monkeypatch.setattr(game, "bullets", lambda lines: shown.extend(said("sentences", line)["text"] for line in lines))
    language.set(code)
    _, context = solara.render(game.Step(session, 0, lambda: None, print), handle_error=False)
    try:
        wait_until(lambda: any(each.startswith(text) for each in shown))
    finally:
        context.close()
        language.set("en")


@pytest.mark.deep
def test_a_file_changed_by_another_program_is_an_error_on_the_page(tmp_path, monkeypatch):
    session, shown = Session(tmp_path), []
    session.take(EXAMPLE)
    session.write_release("no-attack")
    shared = tmp_path / "shared/shared.csv"
    shared.write_text(shared.read_text().replace(",", ";"))
    monkeypatch.setattr(share, "text", lambda *texts: shown.append(texts))
    solara.render(share.Step(session, 0, lambda: None, print), handle_error=False)
    ((error, look),) = set(shown)
    assert "shared.csv" in error
    assert look == "error"


def test_groups_of_another_level_are_not_chosen_and_names_stay_distinct(tmp_path, monkeypatch):
    session, trees, forms, panels = Session(tmp_path), [], [], []
    session.take(EXAMPLE)
    monkeypatch.setattr(hierarchies, "tree", lambda shown, event_send: trees.append((shown, event_send)))
    monkeypatch.setattr(
        Panel, "form", lambda self, fields, change=None, *more, **others: forms.append((fields, change))
    )
    name = next(each for each in session.sections if len(session.hierarchy(each).labels) > 3)

    @solara.component
    def Step():  # noqa: N802
        panels.append(Panel("hierarchies", session, lambda: None))
        hierarchies._Levels(session=session, name=name, panel=panels[-1])

    def enter(key, value):
        next(change for fields, change in reversed(forms) if key in [each["key"] for each in fields])(key, value)

    def choose(label):
        trees[-1][1]({"key": "groups", "value": label})
        wait_until(lambda: label in trees[-1][0]["chosen"])

    solara.render(Step(), handle_error=False)
    wait_until(lambda: trees)
    first, second, third = [each["group"] for each in trees[-1][0]["groups"]][:3]
    choose(first)
    choose(second)
    before = session.required
    for taken in (third, f"{third} ", "*"):
        enter("name", taken)
        wait_until(lambda taken=taken: forms[-1][0][0]["value"] == taken)
        enter("merge", True)
        wait_until(
            lambda taken=taken: f"stands for other values; found {taken.strip()!r}" in panels[-1].problem("merge")
        )
        assert session.required is before
        choose(first)
        choose(second)
    enter("level", "2")
    wait_until(lambda: trees[-1][0]["groups"][0]["level"] == 2)
    assert trees[-1][0]["chosen"] == []


def test_limits_of_bands_may_have_blanks_after_the_commas(tmp_path, monkeypatch):
    session, path, fields, changes = Session(tmp_path), tmp_path / "people.csv", {}, {}
    pd.DataFrame({"age": range(20, 60), "sex": ["F", "M"] * 20}).to_csv(path, index=False)
    session.take(path)

    def form(self, shown, change=None, *more):
        # First the changes: the test waits for the fields, while another thread draws the page.
        changes.update({each["key"]: change for each in shown})
        fields.update({each["key"]: each for each in shown})

    @solara.component
    def Step():  # noqa: N802
        panel = Panel("hierarchies", session, lambda: None)
        hierarchies._Levels(session=session, name="age", panel=panel)

    monkeypatch.setattr(Panel, "form", form)
    solara.render(Step(), handle_error=False)
    wait_until(lambda: "points" in fields)
    changes["points"]("points", "20, 25 ,30, 40,50")
    wait_until(lambda: fields["points"]["value"])
    before = session.required
    changes["cut"]("cut", True)
    wait_until(lambda: session.required is not before or fields["cut"]["error"])
    assert fields["cut"]["error"] == ""
    assert session.hierarchy("age").labels[1] == ("20-24", "25-29", "30-39", "40-49", "50+")


def test_an_error_of_a_hierarchy_goes_with_its_column(tmp_path, monkeypatch):
    session, forms = Session(tmp_path), []
    session.take(EXAMPLE)
    _, second, *_ = session.sections
    session.problems = {("hierarchies", "hierarchies"): "no row", ("share", "write"): "not written"}
    monkeypatch.setattr(hierarchies, "_Levels", lambda **others: solara.Text("levels"))
    monkeypatch.setattr(Panel, "form", lambda self, fields, change=None: forms.append((fields, change)))
    solara.render(hierarchies.Step(session, 0, lambda: None, print), handle_error=False)
    choose = next(change for fields, change in forms if fields[0]["key"] == "column")
    choose("column", second)
    wait_until(lambda: any(fields[0]["value"] == second for fields, _ in forms if fields[0]["key"] == "column"))
    assert session.problems == {("share", "write"): "not written"}


def test_the_example_is_offered_only_without_a_file(tmp_path, monkeypatch):
    session, shown = Session(tmp_path), []
    monkeypatch.setattr(Panel, "form", lambda self, fields, change=None: shown.append([each["key"] for each in fields]))
    solara.render(file.Step(session, 0, lambda: None, print), handle_error=False)
    session.take(EXAMPLE)
    solara.render(file.Step(session, 1, lambda: None, print), handle_error=False)
    assert ["example" in keys for keys in shown] == [True, False]
    assert all("remove" in keys for keys in shown)


@pytest.mark.parametrize("name", [pytest.param("cover.xlsx", marks=pytest.mark.deep), "people.csv"])
def test_a_file_that_could_not_be_read_is_read_with_another_sheet_or_encoding(tmp_path, monkeypatch, name):
    session, forms, people = Session(tmp_path), [], pd.DataFrame({"age": range(20, 60), "sex": ["F", "M"] * 20})
    path = session.place_for(name)
    if path.suffix == ".xlsx":
        with pd.ExcelWriter(path) as book:
            pd.DataFrame({"note": ["as of 2024"]}).to_excel(book, sheet_name="Cover", index=False)
            people.to_excel(book, sheet_name="People", index=False)
    else:
        path.write_bytes(people.to_csv(index=False).encode("utf-16-le"))
    with pytest.raises(InputError):
        session.take(path)
    monkeypatch.setattr(Panel, "form", lambda self, fields, change=None: forms.append((fields, change)))
    solara.render(file.Step(session, 0, lambda: None, print), handle_error=False)
    ((field, change),) = [(fields[0], change) for fields, change in forms if fields[0]["key"] in ("sheet", "encoding")]
    key, value = ("sheet", "People") if name == "cover.xlsx" else ("encoding", "utf-16")
    assert (field["key"], field["value"]) == (key, "")
    assert value in [each["value"] for each in field["options"]]
    change(key, value)
    wait_until(lambda: session.scenario)
    assert session.refused is None
    assert set(session.sections) == {"age", "sex"}


def test_a_step_that_was_closed_on_another_page_gives_way_to_an_open_one(tmp_path, monkeypatch):
    session, shown = Session(tmp_path), []
    session.take(EXAMPLE)
    assert session.first_step == "columns"
    session.remove()
    session.first_step = "columns"
    monkeypatch.setattr(page.BROWSERS, "session_of", lambda browser: session)
    monkeypatch.setattr(solara, "get_session_id", lambda: "")
    monkeypatch.setattr(page, "frame", lambda shown, event_send: None)
    for name, step in page.STEPS.items():
        monkeypatch.setattr(step, "Step", lambda name=name, **others: shown.append(name))
    solara.render(page.Page(), handle_error=False)
    assert set(shown) == {"file"}
