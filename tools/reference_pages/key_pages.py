"""The pages on the keys of scenarios, population recipes and knowledge recipes."""

from __future__ import annotations

from collections.abc import Iterator

from markdown_text import wrapped

from reference_pages.keys import GUIDES, Elsewhere, described_by_path, described_sections, guide, headings_of
from reference_pages.words import tag_of
from reidsim.adversaries.knowledge.groups import KnowledgeRecipe
from reidsim.adversaries.rationality import ProspectTheory
from reidsim.adversaries.testing import ListTestingSection
from reidsim.core.validation import Section, section_classes
from reidsim.populations.catalogue import Recipe
from reidsim.populations.genealogy.genealogy import Labels
from reidsim.populations.population import RecipeHead
from reidsim.populations.resources import FiguresByAge, SocialMediaRecipe
from reidsim.scenarios.adversary_schema import (
    AdversarySection,
    AgentsSection,
    BeliefsSection,
    EconomicsSection,
    PlannerSection,
    SequentialSection,
    WeightedSection,
)
from reidsim.scenarios.hierarchies import GeneralizedSection
from reidsim.scenarios.kind import schemas
from reidsim.scenarios.resources import AttackRecipe, DrawnResourceSection
from reidsim.scenarios.schema import ScenarioHead, StressSection, SweepSection, SweepValues, UncertaintySection

SCENARIO_KEYS = "scenario-keys.md"
RECIPE_KEYS = "population-recipe-keys.md"
KNOWLEDGE_KEYS = "knowledge-recipe-keys.md"
ATTACK_KEYS = "attack-recipe-keys.md"

# Sections whose keys several games have.
_SHARED: dict[str, type[Section]] = {
    "Every scenario": ScenarioHead,
    "`[attributes.NAME]`": GeneralizedSection,
    "`[economics]`": EconomicsSection,
    "`[beliefs]`": BeliefsSection,
    "`[resources.NAME]`": DrawnResourceSection,
    "`[adversary]`": PlannerSection,
    "`[adversary]` of records": AdversarySection,
    "`[adversary.sequential]`": SequentialSection,
    "`[adversary.testing]`": ListTestingSection,
    "`[adversary.prospect]`": ProspectTheory,
    "`[adversaries.NAME]`": WeightedSection,
    "`[agents]`": AgentsSection,
    "`[sweep]`": SweepSection,
    "`[uncertainty]`": UncertaintySection,
    "`[stress]`": StressSection,
}
_SHARED_VALUES = Elsewhere("Values of a key", "values")
_RECIPE_SECTIONS: dict[type[Section], Elsewhere] = {
    Labels: Elsewhere("Tables of labels", "section"),
    FiguresByAge: Elsewhere("Figures by age", "section"),
}
_WORDS = """\
- Each key is followed by its type and its default. Keys in **bold** are required. A section with *its defaults* is
  optional.
- Unknown keys are errors. Types are exact: `"600"` is text, `600` is a number.
- A *number* is finite. An *amount* is a number from 0 to 10^15, in currency units per record; a *share*, a number from
  0 to 1; a *count*, an integer of 1 or more. *Text* is in quotes, a *list* in brackets. `NAME` is a name of your own,
  or a key path.
- A *section for each name* is written `[attributes.age]`, `[attributes.sex]` and so on; a *list of sections*,
  `[[adversary.stages]]`, once for each.
- A *section of* values has keys of your own: `columns = { age = "years" }` is the column of the file by attribute.
- Paths are relative to the file. `bundled:figures/ystr-loci.csv.gz` is a file that reidsim ships.
"""


def page_of_game(game: str) -> str:
    """Return the file name of the page on the keys of a game."""
    return f"{game}-keys.md"


def key_pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page on keys."""
    yield SCENARIO_KEYS, _scenario_keys()
    for game in schemas():
        yield page_of_game(game), _game_keys(game)
    yield RECIPE_KEYS, _recipe_keys()
    known = (
        "a [knowledge recipe](../explanation/knowledge.md#knowledge-recipes), which describes the knowledge of an "
        "adversary."
    )
    yield KNOWLEDGE_KEYS, _keys_of("knowledge recipes", known, KnowledgeRecipe)
    attacked = (
        "an [attack recipe](../how-to/attack-stages.md), which describes an attack on generalized records in stages."
    )
    yield ATTACK_KEYS, _keys_of("attack recipes", attacked, AttackRecipe)


def head(title: str, text: str) -> str:
    """Return the beginning of a page of the reference."""
    return f"# {title}\n\n{wrapped(text)}\n"


def _scenario_keys() -> str:
    """Return the page that leads to those of the games, with the sections that several games have."""
    text = "The keys of a [scenario file](scenarios.md) depend on its key `game`. Several games share these sections."
    games = ", ".join(f'[`"{game}"`]({page_of_game(game)})' for game in schemas())
    parts = [
        head("Scenario keys", text),
        wrapped(f"The pages of the games: {games}.") + "\n",
        "## Types and defaults\n",
        _WORDS,
    ]
    for heading, model in _SHARED.items():
        parts.append(described_sections(model, _elsewhere(model), top=heading, note=guide("sections", heading)))
    return "\n".join(parts)


def _elsewhere(model: type[Section] | None = None) -> dict[type[Section], Elsewhere]:
    """Return where sections that several games have are described: all of them, or as seen from one of them."""
    shared = {section: Elsewhere(heading, page=SCENARIO_KEYS) for heading, section in _SHARED.items()}
    if model is None:
        for heading, section in _SHARED.items():
            below = headings_of(section, heading, shared)
            shared |= {inner: Elsewhere(place, page=SCENARIO_KEYS) for inner, place in below.items()}
    # Described with the sweep, and linked from other sections.
    is_here = model is SweepSection
    values = Elsewhere(_SHARED_VALUES.heading, _SHARED_VALUES.words, "" if is_here else SCENARIO_KEYS)
    return shared | {SweepValues: values}


def _game_keys(game: str) -> str:
    model = schemas()[game]
    elsewhere = _elsewhere()
    for stage in section_classes(AttackRecipe.model_fields["stages"].annotation):
        heading = f'`[[stages]]` with `stage = "{tag_of(stage, "stage")}"`'
        elsewhere[stage] = Elsewhere(heading, page=ATTACK_KEYS)
    # A kind of an installed package has no guide here.
    guides = f"the [guide]({GUIDES['games'][game]}), and " if game in GUIDES["games"] else ""
    text = (
        f'Every key of a scenario with `game = "{game}"`. See {guides}'
        f"[types and defaults]({SCENARIO_KEYS}#types-and-defaults)."
    )
    return "\n".join([head(f"Keys of {game} scenarios", text), described_sections(model, elsewhere)])


def _recipe_keys() -> str:
    text = (
        "Every key of every kind of [population recipe](../how-to/populations.md#kinds-of-recipe). "
        "`age.tail.linear` is the key `linear` of the section `[age.tail]`. Keys in **bold** are required; keys of an "
        "optional section are required only with this section. A *population* is the name of a bundled recipe, or the "
        "path of a recipe or of a file that `reidsim populate` wrote. "
        f"See [types and defaults]({SCENARIO_KEYS}#types-and-defaults)."
    )
    parts = [head("Recipe keys", text), described_by_path("Every recipe", RecipeHead, {})]
    recipes: list[type[Section]] = [*section_classes(Recipe), SocialMediaRecipe]
    for model in recipes:
        kind = tag_of(model, "kind") or ""
        note = guide("recipes", kind)
        parts.append(described_by_path(f'`kind = "{kind}"`', model, _RECIPE_SECTIONS, note=note, base=RecipeHead))
    parts += [described_by_path(other.heading, model, {}) for model, other in _RECIPE_SECTIONS.items()]
    return "\n".join(parts)


def _keys_of(what: str, described: str, recipe: type[Section]) -> str:
    text = f"Every key of {described} See [types and defaults]({SCENARIO_KEYS}#types-and-defaults)."
    return "\n".join([head(f"Keys of {what}", text), described_sections(recipe, {})])
