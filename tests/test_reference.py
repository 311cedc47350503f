"""The reference pages are what the code says, and say all of it."""

import json
import re
import sys
from pathlib import Path
from typing import Annotated, Literal

import pytest
import reference
import typer
from documented import inner_sections
from found import at_least
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter, ValidationError, create_model
from pydantic.json_schema import models_json_schema
from reference_pages.commands_page import commands_page
from reference_pages.key_pages import RECIPE_KEYS, page_of_game
from reference_pages.keys import Elsewhere, anchor, described_sections
from reference_pages.words import default_in_words, kind_in_words
from tiers import examples

from reidsim.adversaries.knowledge.recipe import KnowledgeRecipe
from reidsim.bundled import bundled_names
from reidsim.cli import app, main
from reidsim.populations.catalogue import Recipe
from reidsim.populations.social_media import SocialMediaRecipe
from reidsim.scenarios.attack_recipe import AttackRecipe
from reidsim.scenarios.registry import kind_named, schemas
from reidsim.validation import Section

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
ROOT = typer.main.get_command(app)
PAGES = reference.reference_pages()
assert len(PAGES) == 8 + len(schemas())  # one for each game
RECIPES = at_least(11, [*inner_sections(Recipe), SocialMediaRecipe])


def sections_below(*models):
    """Return these classes of sections and all those that their keys hold."""
    found = []
    for model in models:
        if model not in found:
            found.append(model)
            below = [inner for field in model.model_fields.values() for inner in inner_sections(field.annotation)]
            found += [section for section in sections_below(*below) if section not in found]
    return found


GAMES = schemas()
SECTIONS = at_least(110, sections_below(*GAMES.values(), *RECIPES, KnowledgeRecipe, AttackRecipe))
KEYS = at_least(600, ((model, name, field) for model in SECTIONS for name, field in model.model_fields.items()))


# A key or option, what it may be (with parentheses of its own), and what it means.
ITEM = re.compile(r"^- \*{0,2}(`.+?`)\*{0,2} \(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\): (.+)$", re.MULTILINE)


def tables(text):
    """Yield what each list says of its keys: their types, defaults and meanings."""
    for block in re.findall(r"(?:^- [*`].*\n)+", text, re.MULTILINE):
        items = ITEM.findall(block)
        assert len(items) == block.count("\n")
        rows = [
            (key, [*re.split(r"; (?![^(]*\))", said), meaning])
            for keys, said, meaning in items
            for key in keys.strip("`").split("`, `")
        ]
        assert len(dict(rows)) == len(rows)
        yield dict(rows)


EXTENDS = re.compile(r"(?:Adds\s+to|The\s+keys\s+of)\s+(\[[^()]+\]\(.*?#.+?\)(?:\s+and\s+\[[^()]+\]\(.*?#.+?\))*)[:.]")


def sections_of(name):
    """Return the keys of every section of a page by its anchor: those of its heading, its table and what it extends."""
    found = {}
    for part in re.split(r"^##+ ", PAGES[name], flags=re.MULTILINE)[1:]:
        heading = part.splitlines()[0]
        keys = {*re.findall(r"with `(\w+) = ", heading)}
        for page, section in extended_by(part):
            keys |= (found if page in ("", name) else sections_of(page))[section]
        keys.update(*tables(part))
        if keys:
            found[anchor(heading)] = frozenset(keys)
    return found


def extended_by(part):
    """Return the pages, empty for its own, and the anchors of the sections that a section extends."""
    return [link for sentence in EXTENDS.findall(part) for link in re.findall(r"\]\((.*?)#(.+?)\)", sentence)]


def only_extended(*names):
    """Return the keys of the sections that others of some pages extend."""
    return {sections_of(page or name)[section] for name in names for page, section in extended_by(PAGES[name])}


# The pages as committed.


def test_the_committed_pages_are_what_the_command_writes():
    """If this fails, the code changed: `python tools/reference.py` writes the pages anew."""
    assert {page.name: page.read_text(encoding="utf-8") for page in FOLDER.iterdir()} == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_headings_of_a_page_have_anchors_of_their_own(name):
    anchors = at_least(3, (anchor(heading) for heading in re.findall(r"^#+ (.+)$", PAGES[name], re.MULTILINE)))
    assert len(set(anchors)) == len(anchors)


# What can be named: policies, and what is bundled.


def test_every_policy_of_a_game_is_listed_and_no_other():
    named = re.split(r"^## ", PAGES["policies.md"], flags=re.MULTILINE)[1:]
    listed = {re.search(r'"(\w+)"', part)[1]: re.findall(r"^- `([\w-]+)` \(", part, re.MULTILINE) for part in named}
    kinds = {name: list(kind_named(name).policies) for name in GAMES}
    assert listed == {name: policies for name, policies in kinds.items() if policies}
    at_least(40, (policy for policies in listed.values() for policy in policies))


def test_every_bundled_file_is_listed_with_its_title():
    listed = re.findall(r"^- `([\w-]+)`: \S.*$", PAGES["bundled.md"], re.MULTILINE)
    folders = ("scenarios", "populations", "populations/knowledge")
    assert sorted(listed) == at_least(40, sorted(name for folder in folders for name in bundled_names(folder)))


# Every key is there and is explained.


@pytest.mark.parametrize("model", SECTIONS)
def test_every_key_says_what_it_means(model):
    for name, field in model.model_fields.items():
        said = field.description
        # What an amount says of itself is not what the key means.
        assert said not in (None, "", "currency units per record"), f"{model.__name__}.{name}"
        assert said == " ".join(said.split()), f"{model.__name__}.{name}"
        assert not said.endswith("."), f"{model.__name__}.{name}"


def test_every_section_says_what_it_is_for():
    assert [model.__name__ for model in SECTIONS if not model.__dict__.get("__doc__")] == []


def schema_keys(*models):
    """Return the keys of every section below some, from the JSON Schema that pydantic makes of them."""
    _, schema = models_json_schema([(model, "validation") for model in models], by_alias=True)
    parts = [part for whole in schema["$defs"].values() for part in (whole, *whole.get("anyOf", ()))]
    return {frozenset(part["properties"]) for part in parts if "properties" in part}


def test_scenario_pages_have_the_keys_of_every_section_and_no_others():
    pages = [page_of_game(game) for game in GAMES]
    own = {keys for page in pages for keys in sections_of(page).values()}
    shared, stages = sections_of("scenario-keys.md"), set(sections_of("attack-recipe-keys.md").values())
    needed = schema_keys(*GAMES.values())
    assert needed <= own | set(shared.values()) | stages
    # What sections only extend is none itself.
    assert (own | set(shared.values())) - needed <= only_extended("scenario-keys.md", *pages)
    assert {anchor for anchor, keys in shared.items() if keys not in needed} == {
        "every-scenario", "attributesnamehierarchy", "resourcesname", "adversary", "adversariesname",
        "uncertaintyparametersname",
    }  # fmt: skip


@pytest.mark.parametrize("game", GAMES)
def test_the_page_of_a_game_leads_to_the_keys_of_all_its_sections(game):
    elsewhere = {*sections_of("scenario-keys.md").values(), *sections_of("attack-recipe-keys.md").values()}
    own = set(sections_of(page_of_game(game)).values())
    needed = schema_keys(GAMES[game])
    assert needed <= own | elsewhere
    assert own - needed <= only_extended(page_of_game(game))
    assert frozenset(field.alias or name for name, field in GAMES[game].model_fields.items()) in own


def eights(text):
    """Return the runs of eight words of the rows of a page."""
    words = [word for line in text.splitlines() if line.startswith(("- `", "- **`")) for word in line.split()]
    return {tuple(words[start : start + 8]) for start in range(len(words) - 7)}


def test_key_pages_do_not_repeat_each_other():
    """What several games have is described once and linked."""
    pages = {name: eights(text) for name, text in PAGES.items() if name.endswith("-keys.md")}
    for name, runs in pages.items():
        others = set().union(*(other for page, other in pages.items() if page != name))
        assert len(runs & others) < 0.2 * len(runs), name


def test_the_page_on_knowledge_has_the_keys_of_every_section_and_no_others():
    own, needed = set(sections_of("knowledge-recipe-keys.md").values()), schema_keys(KnowledgeRecipe)
    assert needed <= own <= needed | only_extended("knowledge-recipe-keys.md")


def dotted(schema, part, path=""):
    """Yield the paths of all keys below a part of a JSON Schema that are of texts, numbers, lists and so on."""
    if "$ref" in part:
        yield from dotted(schema, schema["$defs"][part["$ref"].rpartition("/")[2]], path)
    for inner in [*part.get("anyOf", ()), part.get("items"), part.get("additionalProperties")]:
        if isinstance(inner, dict):
            yield from dotted(schema, inner, path)
    for name, inner in part.get("properties", {}).items():
        below = list(dotted(schema, inner, f"{path}{name}."))
        yield from below or [f"{path}{name}"]


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_page_on_recipes_has_every_key_by_its_path(recipe):
    kind = recipe.model_json_schema()["properties"]["kind"]["const"]
    parts = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", PAGES[RECIPE_KEYS], re.MULTILINE))
    (head,) = tables(parts["Every recipe"])
    (rows,) = tables(parts[f'`kind = "{kind}"`'])
    shown = {"kind", *head, *rows}
    for heading in ("Tables of labels", "Figures by age"):
        (below,) = tables(parts[heading])
        links = [key for key, cells in rows.items() if f"(#{anchor(heading)})" in cells[0]]
        shown |= {f"{key}.{inner}" for key in links for inner in below}
    schema = recipe.model_json_schema()
    leaves = set(dotted(schema, schema))
    assert leaves <= shown
    # What else is shown are the sections that hold them.
    assert all(any(leaf.startswith(f"{key}.") for leaf in leaves) for key in shown - leaves)


def test_every_key_is_shown_with_its_type_default_and_meaning():
    for text in (text for name, text in PAGES.items() if name.endswith("-keys.md")):
        for rows in tables(text):
            for key, cells in rows.items():
                assert 2 <= len(cells) <= 3, key
                assert all(cells), key


# Types are told as they are checked.


def edges(kind):
    """Yield numbers that a kind allows, and numbers that it does not, as its words say."""
    kind = {"share": "number from 0 to 1", "count": "integer, 1 or more"}.get(kind, kind)
    step = 1 if kind.startswith("integer") else 1e-6
    for words, sign, allowed in (
        (r"from (\S+) to ", -1, True),
        (r" to (\S+)$", 1, True),
        (r", (\S+) or more", -1, True),
        (r"at most (\S+?)$", 1, True),
        (r"above (\S+?)(?:,|$)", -1, False),
        (r"below ([\d.,-]+)$", 1, False),
    ):
        for found in re.findall(words, kind):
            edge = (int if step == 1 else float)(found.replace(",", ""))
            yield edge, allowed
            yield edge + sign * step, False


def accepts(field, number, *, whole):
    try:
        # A field of its own: what the others of its section need does not matter.
        bounds = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        TypeAdapter(bounds).validate_python(int(number) if whole else number)
    except ValidationError:
        return False
    return True


NUMBERS = at_least(
    150,
    (
        pytest.param(field, id=f"{model.__name__}.{name}")
        for model, name, field in KEYS
        if re.fullmatch(
            r"(integer|number)((?! or section).)*|share|count", kind_in_words(field, lambda _, words: words)
        )
    ),
)


@pytest.mark.parametrize("field", NUMBERS)
def test_a_number_is_allowed_where_its_type_says(field):
    kind = kind_in_words(field, lambda _, words: words)
    for number, allowed in edges(kind):
        assert accepts(field, number, whole=kind.startswith(("integer", "count"))) == allowed, (kind, number)
    if not list(edges(kind)):
        assert accepts(field, -1, whole=True)


@examples(40)
@given(st.integers(-1000, 1000), st.integers(1, 2000), st.booleans(), st.booleans())
def test_bounds_in_words_are_those_of_the_validator(low, width, open_below, open_above):
    bounds = {"gt" if open_below else "ge": low, "lt" if open_above else "le": low + width}
    for kind in (int, float):
        field = create_model("Model", x=(Annotated[kind, Field(**bounds)], ...)).model_fields["x"]
        words = kind_in_words(field, lambda _, text: text)
        found = list(edges(words))
        assert len(found) == 4, words
        for number, allowed in found:
            # Two open ends leave no integer between neighbours.
            if kind is float or low + open_below <= low + width - open_above:
                assert accepts(field, number, whole=kind is int) == allowed, (words, number)


class Inner(Section):
    """An inner section."""

    kind: Literal["inner"] = Field(description="its kind")


class Other(Section):
    """Another section."""

    kind: Literal["other"] = Field(description="its kind")
    size: int = Field(description="a size | with a bar")


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (str, "text"),
        (Annotated[str, Field(min_length=1, max_length=1)] | None, "text of one character"),
        (bool, "boolean"),
        (Literal["a", "b", "c"] | None, '`"a"`, `"b"` or `"c"`'),
        (tuple[Literal["a", "b"], ...], 'list of `"a"`, `"b"`'),
        (Annotated[float, Field(ge=0, le=1e15)], "amount"),
        (Annotated[float, Field(ge=0, le=1)], "share"),
        (tuple[Annotated[int, Field(ge=1)], ...], "list of counts"),
        (tuple[Annotated[float, Field(ge=0, le=1e15)], ...], "list of amounts"),
        (Annotated[tuple[Annotated[int, Field(ge=2)], ...], Field(min_length=1)],
         "list of integers, each 2 or more, not empty"),
        (Annotated[int, Field(gt=0, lt=2**53)], "integer, 1 or more, below 2^53"),
        (tuple[tuple[str, ...], ...], "list of lists of text"),
        (tuple[str, str], "list of 2 texts"),
        (dict[str, str], "section of text"),
        (dict[str, tuple[str, ...]], "section of lists of text"),
        (float | str | tuple[str, ...], "number, text or list of text"),
        (Literal["a", "b"] | dict[str, float], '`"a"`, `"b"` or section of numbers'),
        (Inner, "<section>"),
        (tuple[Inner, ...], "list of <sections>"),
        (dict[str, Inner] | None, "<section> for each name"),
        (Annotated[Inner | Other, Field(discriminator="kind")], 'section of `kind` <`"inner"`> or <`"other"`>'),
        (tuple[Annotated[Inner | Other, Field(discriminator="kind")], ...],
         'list of sections of `kind` <`"inner"`> or <`"other"`>'),
    ],
)  # fmt: skip
def test_types_in_words(annotation, words):
    field = create_model("Model", x=(annotation, ...)).model_fields["x"]
    assert kind_in_words(field, lambda _, text: f"<{text}>") == words


@pytest.mark.parametrize(
    ("default", "words"),
    [
        (..., "required"),
        (None, "none"),
        ((), "none"),
        ({}, "none"),
        ("a", '`"a"`'),
        (1e-9, "`1e-09`"),
        (True, "`true`"),
    ],
)
def test_defaults_in_words(default, words):
    assert default_in_words(create_model("Model", x=(object, default)).model_fields["x"]) == words


def test_a_section_that_extends_another_repeats_none_of_its_keys():
    class Longer(Other):
        """A longer section."""

        width: int = Field(description="a width")

    class Outer(Section):
        """An outer section."""

        one: Other = Field(description="one")
        two: Longer = Field(description="two")

    text = described_sections(Outer, {})
    assert "A longer section. Adds to [`[one]`](#one):" in text
    assert (text.count("- **`size`** ("), text.count("- **`width`** (")) == (1, 1)


def test_a_section_in_two_places_is_described_once_with_both():
    class Outer(Section):
        """An outer section.

        It says ``more``.
        """

        one: Other = Field(description="one")
        two: tuple[Other, ...] = Field(description="two")
        far: Inner | None = Field(default=None, description="far")

    text = described_sections(Outer, {Inner: Elsewhere("Far away", "thing", "other.md")}, note="And this.")
    assert text.startswith("## Top level\n\nAn outer section.\n\nIt says `more`. And this.\n\n- **`")
    assert "- **`one`** ([section](#one-and-two)): one\n" in text
    assert "- **`two`** (list of [sections](#one-and-two)): two\n" in text
    assert "- `far` ([thing](other.md#far-away)): far\n" in text
    assert text.count("## `[one]` and `[[two]]`\n") == 1
    assert "- **`size`** (integer): a size | with a bar\n" in text
    assert "Far away\n" not in text


# Commands.


def test_the_page_on_commands_has_every_command_argument_and_option():
    parts = {part.splitlines()[0].strip("`"): part for part in re.split(r"^## ", PAGES["commands.md"], flags=re.M)[1:]}
    commands = {"reidsim": ROOT} | {f"reidsim {name}": command for name, command in ROOT.commands.items()}
    assert list(parts) == [*commands, "Options of several commands", "Exit codes"]
    shared = parts["Options of several commands"]
    for name, command in commands.items():
        own = [parameter for parameter in command.params if not parameter.name.endswith("_completion")]
        options = {option for parameter in own for option in parameter.opts if option.startswith("-")}
        also = re.findall(r"`(.*?)`", " ".join(re.findall(r"^(?:Also|Options): (?:.+\n)+", parts[name], re.MULTILINE)))
        rows = [line for line in shared.splitlines() if any(f"`{option}`" in line.partition(":")[0] for option in also)]
        text = "\n".join([parts[name], *rows])
        first = re.findall(r"^- \*{0,2}((?:`[^`]+`(?:, )?)+)", text, re.MULTILINE)
        assert {cell for cells in first for cell in re.findall(r"`(-.*?)`", cells)} == options, name
        arguments = [(p.metavar or p.name).upper() for p in own if p.param_type_name == "argument"]
        assert [cell.strip("`") for cell in first if not cell.startswith("`-")] == arguments, name
        for parameter in own:
            assert parameter.help, f"{name}: {parameter.name}"
            assert parameter.help.rstrip(".") in text, f"{name}: {parameter.name}"
        if name != "reidsim":
            example = " ".join(command.help.split("Example:")[1].split())
            assert example.startswith(name), f"{name} has no example"
            assert f"```console\n{example}\n```" in parts[name], name


def test_values_and_defaults_of_options():
    text = PAGES["commands.md"]
    assert "- `--port` (integer from 0 to 65,535; default `8765`): " in text
    assert "- `--attack-rate` (number from 0 to 1; default `0.5`): " in text
    assert "- `--format` (`html` or `markdown`): " in text
    assert "- `--executor` (`auto`, `serial`, `processes` or `dask`): " in text
    assert "- `--set` (KEY=VALUE, repeatable): " in text
    assert "- `--resume`: " in text
    assert "- **`SCENARIO`** (text): " in text


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({}, "integer"),
        ({"min": 1}, "integer, 1 or more"),
        ({"max": 4000}, "integer, at most 4,000"),
        ({"min": 1, "max": 9}, "integer from 1 to 9"),
    ],
)
def test_bounds_of_an_option(bounds, words):
    program = typer.Typer()

    @program.callback()
    def whole() -> None:
        """Do things."""

    @program.command()
    def thing(size: Annotated[int, typer.Option(help="How big.", **bounds)] = 3) -> None:
        """Do a thing."""

    assert f"- `--size` ({words}; default `3`): How big\n" in commands_page(typer.main.get_command(program), {})


def called(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["reidsim", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code, *capsys.readouterr()


def test_the_tool_writes_the_pages_over_older_ones(tmp_path, monkeypatch):
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "commands.md").write_text("old")
    monkeypatch.setattr(sys, "argv", ["reference.py", "-o", str(tmp_path)])
    reference.main()
    assert {page.name: page.read_text(encoding="utf-8") for page in (tmp_path / "reference").iterdir()} == PAGES


def test_the_json_schema_of_editors_has_the_same_words():
    meaning = GAMES["tables"].model_fields["replications"].description
    _, schema = models_json_schema([(GAMES["tables"], "validation")], by_alias=True)
    assert meaning in json.dumps(schema)
    assert meaning in PAGES["scenario-keys.md"]
