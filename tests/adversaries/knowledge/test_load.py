"""Knowledge recipes: bundled recipes, user recipes, and refused input."""

from pathlib import Path

import numpy as np
import pytest

from reidsim.adversaries.knowledge.groups import RecordsFile, enumerate_sets, load_knowledge
from reidsim.core.errors import InputError
from reidsim.core.files import bundled_folder, read_toml
from reidsim.core.validation import validated
from reidsim.populations.census import voter_profile, voter_profiles
from reidsim.populations.counted import AttributeModelRecipe, build_model
from reidsim.populations.population import Attribute, Domain
from reidsim.populations.resources import load_social_media

NATIONAL = (
    "worst-case",
    "voter-registration",
    "twitter",
    "twitter-by-age",
    "voter-registration-and-twitter",
    "registered-tier",
)
# Attributes of the records of wan2015 and wan2021.
SMALL = Domain(
    (
        Attribute("state", ("Ohio", "Tennessee")),
        Attribute("age", ("17", "18", "40", "65")),
        Attribute("sex", ("F", "M")),
    )
)
PERSONS = np.array([[0, 1, 0], [1, 2, 1], [1, 0, 0]], dtype=np.int32)


@pytest.fixture(scope="module")
def national() -> Domain:
    path = bundled_folder("populations") / "united-states-xia2021.toml"
    return build_model(validated(AttributeModelRecipe, read_toml(path), path), path.parent).domain


def person(domain: Domain, **values: str) -> np.ndarray:
    given = {name.replace("_", " "): value for name, value in values.items()}
    return np.array(
        [domain[name].categories.index(given.get(name, domain[name].categories[0])) for name in domain.names]
    )


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(tmp_path: Path, text: str, domain: Domain = SMALL, persons: np.ndarray = PERSONS) -> str:
    with pytest.raises(InputError) as error:
        load_knowledge(write(tmp_path, text), domain, persons)
    assert str(tmp_path / "mine.toml") in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("recipe", NATIONAL)
def test_bundled_recipes_are_about_the_national_population(recipe, national):
    persons = np.stack([person(national, state=state) for state in national["state"].categories]).astype(np.int32)
    sets = enumerate_sets(load_knowledge(recipe, national, persons))
    np.testing.assert_allclose(sets.probability.sum(axis=1), 1)


def test_a_voter_list_tells_what_the_list_of_the_state_carries(national):
    carried = {"birth": "year of birth", "sex": "sex", "race": "race", "ethnicity": "ethnicity"}
    persons = np.stack([person(national, state=state) for state in voter_profiles()]).astype(np.int32)
    knowledge = load_knowledge("voter-registration", national, persons)
    (lists,) = knowledge.sources
    for row, (state, facts) in enumerate(voter_profiles().items()):
        profile = lists.profiles[lists.profile_of_person[row]]
        assert profile.presence == facts.registered_share, state
        assert profile.price == facts.price, state
        told = {"state", *(name for fact, name in carried.items() if getattr(facts, fact))}
        assert {name for group in profile.groups for name in group.attributes} == told, state
        assert all(group.probability == 1 for group in profile.groups)
    assert lists.total_price == sum(facts.price for facts in voter_profiles().values())


def test_who_is_too_young_to_vote_is_on_no_list(tmp_path):
    path = write(
        tmp_path, '[[sources]]\nkind = "voter-lists"\nattributes = { state = "state", age = "age", sex = "sex" }'
    )
    (lists,) = load_knowledge(path, SMALL, PERSONS).sources
    ohio, tennessee = voter_profile("Ohio"), voter_profile("TN")
    np.testing.assert_allclose(lists.presence, [ohio.registered_share, tennessee.registered_share, 0])


def test_facts_of_a_list_can_be_replaced(tmp_path):
    text = """
        [[sources]]
        kind = "voter-lists"
        attributes = { state = "state", age = "age", sex = "sex" }
        [sources.overrides.TN]
        sex = false
        birth = "none"
        registered_share = 0.5
        """
    (lists,) = load_knowledge(write(tmp_path, text), SMALL, PERSONS).sources
    tennessee = lists.profiles[lists.profile_of_person[1]]
    assert (tennessee.presence, tennessee.groups[0].attributes) == (0.5, ("state",))


def test_twitter_tells_each_attribute_on_its_own(national):
    (twitter,) = load_knowledge("twitter", national, person(national)[None].astype(np.int32)).sources
    (profile,) = twitter.profiles
    told = {group.attributes: group.probability for group in profile.groups}
    model = load_social_media("twitter-attributes")
    assert told == {(name,): model.learnable(name) for name in model.attributes}
    assert profile.presence == 1


def test_the_first_profile_that_fits_counts(tmp_path):
    text = """
        [[sources]]
        kind = "groups"
        name = "club"
        [[sources.profile]]
        when = { state = ["Tennessee"], age = ["18..64"] }
        presence = 0.5
        price = 20
        groups = [ { attributes = ["age", "sex"], probability = 0.9 } ]
        [[sources.profile]]
        when = { age = ["..17"] }
        [[sources.profile]]
        presence = 0.1
        groups = [ { attributes = ["sex"] } ]
        """
    (club,) = load_knowledge(write(tmp_path, text), SMALL, PERSONS).sources
    assert club.profile_of_person.tolist() == [2, 0, 1]
    assert club.presence.tolist() == [0.1, 0.5, 1.0]
    assert club.profiles[0].groups[0].probability == 0.9
    assert club.total_price == 20


GROUPS = '[[sources]]\nkind = "groups"\nname = "club"\n[[sources.profile]]\n'
MEDIA = '[[sources]]\nkind = "social-media"\n'
LISTS = '[[sources]]\nkind = "voter-lists"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            GROUPS + 'groups = [{ attributes = ["age"] }, { attributes = ["age"] }]',
            "attribute in two groups; found 'age'",
        ),
        (
            GROUPS + 'when = { sex = ["F"] }\n[[sources.profile]]\n'
            'groups = [{ attributes = ["sex"] }, { attributes = ["age", "aeg"] }]',
            "sources[0]: profile[1]: groups[1].attributes: no such attribute; found 'aeg'",
        ),
        (
            GROUPS + 'when = { state = ["Ohoi"] }',
            "profile[0]: when.state: not a value of 'state'; found 'Ohoi'",
        ),
        (
            GROUPS + 'presence = 0.5\n[[sources.profile]]\nwhen = { sex = ["F"] }',
            "sources[0].profile[0]: the profile fits everybody, so later profiles are never used",
        ),
        (
            '[[sources]]\nkind = "everything"\nname = "x"\n' + GROUPS.replace("club", "x"),
            "sources: two sources have the same name; found 'x'",
        ),
        (GROUPS + 'when = { age = ["18.."] }', "no profile fits a person; found 'age = 17'"),
        (LISTS + 'state = "Ohio"\nattributes = { state = "state", age = "age" }', "the state is missing or given"),
        (LISTS + 'state = "Ohio"\nattributes = { year_of_birth = "age" }', "reference_year: key missing"),
        (LISTS + 'state = "Ohio"\nattributes = { age = "aeg" }', "attributes: no such attribute; found 'aeg'"),
        (
            LISTS + 'state = "Ohio"\nattributes = { age = "age" }\n[sources.overrides.Utah]\nsex = true',
            "overrides: override for a state that the source does not use; found 'Utah'",
        ),
        (
            MEDIA + 'recipe = "twitter-attributes"',
            "attributes: no such attribute; found 'year of birth'",
        ),
        (
            MEDIA + 'recipe = "twitter-use-by-age"\nattributes = { sex = "sex" }\nage = "age"',
            "attribute 'age': no figure for an age; found 17",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, text, message):
    assert message in refused(tmp_path, text)


TOWNS = Domain((Attribute("state", ("Ohio", "Ontario")), Attribute("born", ("2000", "2020", "53", "x", "1950+"))))
BY_BIRTH = LISTS + 'attributes = { state = "state", year_of_birth = "born" }\nreference_year = 2018'
RECORDS = RecordsFile("people.csv", {"state": "STATE"})


@pytest.mark.parametrize(
    ("person", "message"),
    [
        ([1, 0], "people.csv: row 3, column 'STATE': no such state; found 'Ontario'"),
        ([2, 0], "people.csv: row 3, column 'STATE': the source needs a value that is generalized"),
        (
            [0, 1],
            "row 3, column 'born': not a year of birth of a living person; found '2020'",
        ),
    ],
)
def test_a_value_of_the_records_is_named_by_file_row_and_column(tmp_path, person, message):
    path = write(tmp_path, BY_BIRTH)
    fine = [[0, 0], [0, 4]]
    load_knowledge(path, TOWNS, np.array(fine, dtype=np.int32), records=RECORDS)
    with pytest.raises(InputError) as error:
        load_knowledge(path, TOWNS, np.array([*fine, person], dtype=np.int32), records=RECORDS)
    assert message in str(error.value)
    assert str(error.value).endswith(f"needed by source 'voter lists' of {path})")
