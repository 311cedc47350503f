"""Write the text of a drafted scenario, with comments on points to check."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from reidsim.core.plain_data import inline_toml, toml_key
from reidsim.drafts.choice import Choice, ChosenColumn
from reidsim.scenarios.schema import RECORD_COLUMNS
from reidsim.validation import read_toml
from reidsim.wording import counted

# Dollars per record, from Wan et al. 2015.
OF_PAPER = {"benefit": 1200.0, "loss": 300.0, "cost": 4.0}
POLICIES = ("no-protection", "basic", "no-attack")

_LINE = 118
_WORDS = read_toml(Path(__file__).with_suffix(".toml"))


@dataclass(frozen=True)
class Prices:
    """Payoff parameters per record, in one currency; from Wan et al. 2015 if None.

    Parameters
    ----------
    benefit, loss, gain, cost : float or None
        See section ``economics`` of scenarios; if the gain is None, it equals the loss.
    """

    benefit: float | None = None
    loss: float | None = None
    gain: float | None = None
    cost: float | None = None


def attribute_names(chosen: Sequence[ChosenColumn]) -> dict[str, str]:
    """Return the attribute name of each column.

    The name is the population's attribute, or the column name, changed if it is reserved for a result column.
    """
    columns = [column.profile.name for column in chosen]
    names = {}
    for column, match in zip(columns, (taken.match for taken in chosen), strict=True):
        if match is not None:
            names[column] = match.attribute
            continue
        name = column
        while name in RECORD_COLUMNS or (name != column and name in columns):
            name += "_value"
        names[column] = name
    return names


def scenario_text(
    title: str,
    data: str,
    delimiter: str | None,
    choice: Choice,
    files: Mapping[str, str],
    prices: Prices,
    population: str | None = None,
    encoding: str | None = None,
    keys: Mapping[str, str | list[str]] | None = None,
    key_columns: Collection[str] = (),
    search_is_short: bool = True,
) -> str:
    """Return the text of the scenario.

    Parameters
    ----------
    title : str
        Name of the data for the scenario's title.
    data : str
        Path of the records relative to the scenario folder.
    delimiter : str or None
        Delimiter of the records; None if their file has types.
    choice : Choice
        The quasi-identifiers.
    files : mapping of str to str
        Hierarchy file of each column that has one, relative to the scenario folder.
    prices : Prices
        Payoff parameters.
    population : str, optional
        Recipe of the population, for journalist risk; prosecutor risk if not given.
    encoding : str, optional
        Encoding of the records; UTF-8 if not given.
    keys : mapping of str to str or list of str, optional
        Values of ``release.person`` and ``release.household``.
    key_columns : collection of str
        Columns used in `keys`.
    search_is_short : bool
        Whether an exhaustive search for a release that protects people who are looked up is feasible.
    """
    release = [f"path = {inline_toml(data)}"]
    if delimiter not in (None, ","):
        release.append(f"delimiter = {inline_toml(str(delimiter))}")
    if encoding is not None:
        release.append(f"encoding = {inline_toml(encoding)}")
    release += [f"{key} = {inline_toml(column)} # {_WORDS['keys'][key]}" for key, column in (keys or {}).items()]
    parts = [
        _WORDS["head"].format(title=inline_toml(f"Release of {title}")),
        "\n".join(["[release]", *release]),
        _WORDS["quasi_identifiers"] + _possible([name for name in choice.possible if name not in key_columns]),
        *_attributes(choice, files),
        _economics(prices),
        _WORDS["journalist"].format(population=inline_toml(population))
        if population is not None
        else _WORDS["prosecutor"] + _WORDS["both"] * (not choice.is_large),
        _WORDS["publisher"].format(policies=inline_toml(list(POLICIES)))
        + _solver(choice, search_is_short=search_is_short, looks_up=population is None)
        + _safe_harbor(choice),
    ]
    return "\n\n".join(parts) + "\n"


def in_a_line(text: str, longest: int = 60) -> str:
    """Return a text as one printable line for a comment, truncated if long."""
    shown = "".join(character if character.isprintable() else " " for character in text[:longest])
    return shown if len(text) <= longest else f"{shown}..."


def _attributes(choice: Choice, files: Mapping[str, str]) -> list[str]:
    names = attribute_names(choice.chosen)
    sections = []
    for column in choice.chosen:
        profile, draft = column.profile, column.hierarchy
        missing = f", {profile.missing:,} missing" if profile.missing else ""
        described = f"# {profile.kind}, {profile.distinct:,} values{missing}. Levels: unchanged, {draft.comment}."
        if draft.left_out:
            described += f"\n# {counted(draft.left_out, 'more level')} left out for fewer strategies."
        if profile.is_direct:
            described += f"\n# WARNING: {profile.reason}. Direct identifiers should not be shared."
        lines = [described, f"[attributes.{toml_key(names[profile.name])}]"]
        if names[profile.name] != profile.name:
            why = "of the records" if column.match else "of the records; results have a column with that name"
            lines.append(f"column = {inline_toml(profile.name)} # {why}")
        if profile.found.content:
            lines.append(f"reading = {inline_toml(profile.found.content)}")
        if column.match is not None and column.match.unknown:
            lines.append('unknown = "nobody" # no person in the population has some of these values')
        rule = dict(draft.rule)
        if profile.name in files:
            rule["file"] = files[profile.name]
        lines.append(f"hierarchy = {inline_toml(rule)}")
        lines += _values(column, names[profile.name])
        sections.append("\n".join(lines))
    return sections


def _values(column: ChosenColumn, attribute: str) -> list[str]:
    """Return the TOML section that maps values in the records to attribute values.

    It must come after the keys of the attribute, because it starts a new section.
    """
    category = {} if column.match is None else column.match.values
    values = {value: category.get(usual, usual) for value, usual in column.profile.merged.items()}
    values = {value: of for value, of in (category | values).items() if value != of}
    if not values:
        return []
    head = f"[attributes.{toml_key(attribute)}.values] # value in the records = value it is read as"
    return [head, *(f"{toml_key(value)} = {inline_toml(of)}" for value, of in values.items())]


def _possible(names: Sequence[str]) -> str:
    if not names:
        return ""
    lines, line = ["#", "# Others may also know these columns; to add one, give it a section:"], "#  "
    for name in names:
        shown = in_a_line(name)
        if len(line) + len(shown) > _LINE:
            lines.append(line.rstrip())
            line = "#  "
        line += f" {shown},"
    return "\n".join(["", *lines, line.rstrip(",")])


def _amount(value: float) -> str:
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else repr(value)


def _economics(prices: Prices) -> str:
    given = {key: value for key, value in asdict(prices).items() if value is not None}
    amounts = OF_PAPER | given
    lines = [f"{key} = {_amount(amounts[key])} # {what}" for key, what in _WORDS["amounts"].items() if key in amounts]
    return "\n".join([_WORDS["prices" if given else "prices_of_wan2015"], "[economics]", *lines])


def _solver(choice: Choice, *, search_is_short: bool, looks_up: bool) -> str:
    """Return the comment on the strategy search, and the solver if not the default."""
    words, iceberg = _WORDS["solvers"], choice.is_large
    lines = [f"# {choice.strategies:,} strategies per record, {choice.cells:,} distinct records."]
    if looks_up and search_is_short:
        lines.append(words["both"])
    else:
        lines.append(words["iceberg" if iceberg else "backward-induction"])
        lines += [words["not_both" if iceberg else "few_suppressed"]] * looks_up
    if choice.left_out_levels:
        lines.append(f"# With the levels left out, there would be {choice.all_strategies:,} strategies.")
    if iceberg:
        lines.append('solver = "iceberg"')
    return "\n" + "\n".join(lines)


def _safe_harbor(choice: Choice) -> str:
    by_concept = {column.profile.concept: column for column in choice.chosen}
    names = attribute_names(choice.chosen)
    found = {
        key: names[by_concept[concept].profile.name]
        for key, concept in (("age", "age"), ("zip", "postal code"))
        if concept in by_concept
    }
    if not found:
        return ""
    keys = "\n".join(f"# {key} = {inline_toml(name)}" for key, name in found.items())
    return f"\n\n{_WORDS['safe_harbor']}\n# [safe_harbor]\n{keys}"
