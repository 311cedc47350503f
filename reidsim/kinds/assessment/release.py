"""Read the released records of a scenario of the kind ``risk``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError, listed, locating, refuse_rows, require_among
from reidsim.kinds.assessment.schema import RiskReleaseSection, RiskScenario, TreeSection
from reidsim.linkage.people import largest_in_groups
from reidsim.linkage.uniqueness.sample_cells import weights_in
from reidsim.linkage.value_tree import TOP, ValueTree
from reidsim.populations.counted import natural_categories
from reidsim.populations.domain import Attribute, Codes, Domain
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import SUPPRESSED, hierarchy_from_rows
from reidsim.releases.hierarchy_file import read_hierarchy_rows
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.people import Keys, key_columns, keys_of_records, require_same
from reidsim.tables import read_table, require_columns


@dataclass(frozen=True, eq=False)
class Release:
    """Released records, with their hierarchies of values.

    Parameters
    ----------
    domain : Domain
        Attributes with their ungeneralized values.
    codes : ndarray of int32, shape (n_records, n_attributes)
        Code of each value; for an attribute with a value tree, the node of the tree.
    trees : dict of str to ValueTree
        Tree of the values and groups of each attribute that has groups or suppressed values.
    persons : ndarray of int32, shape (n_records, n_attributes), optional
        True values of the persons of the records; None if unknown, in which case the released values replace them.
    weights : ndarray of float64, shape (n_records,), optional
        Number of people that each record represents; None if unknown.
    person : ndarray of int, shape (n_records,), optional
        Person of each record, numbered from 0; None if each record is one person.
    household : ndarray of int, shape (n_records,), optional
        Household of each record's person; None if unknown.
    """

    domain: Domain
    codes: Codes
    trees: dict[str, ValueTree]
    persons: Codes | None = None
    weights: NDArray[np.float64] | None = None
    person: Keys | None = None
    household: Keys | None = None

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.codes)

    @property
    def n_people(self) -> int:
        """Number of people; the number of records if each record is one person."""
        return self.n_records if self.person is None else int(self.person.max()) + 1

    def by_person(self, risks: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest risk among a person's records, shape (n_records,)."""
        return risks if self.person is None else largest_in_groups(risks, self.person)

    def of_people(self, risks: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest risk among each person's records, shape (n_people,)."""
        if self.person is None:
            return risks
        return self.by_person(risks)[np.unique(self.person, return_index=True)[1]]


def population_over(population: Population, attributes: tuple[str, ...]) -> Population:
    """Return the population by the released attributes; by all if none are named.

    Raises
    ------
    InputError
        If the population lacks an attribute.
    """
    with locating(where="release.attributes"):
        return population.marginal(attributes or population.domain.names)


def read_release(loaded: Scenario[RiskScenario], population: Population | None) -> tuple[Release, Population | None]:
    """Read the records of a file.

    The categories of an attribute come from its value tree, the population, or the file. The value ``*`` is suppressed:
    it includes every value. An empty value is refused because its meaning is unknown.

    Returns
    -------
    Release
    Population or None
        Population by the attributes of the release.

    Raises
    ------
    InputError
        If a file cannot be used, an attribute or value is missing, or a value is invalid for its attribute.
    """
    section, trees = loaded.scenario.release, loaded.scenario.trees
    path = loaded.folder / str(section.path)
    frame = read_table(path, delimiter=section.delimiter, comment="#")
    truth = None if section.persons is None else _true_values(loaded.folder / section.persons, section, len(frame))
    shown = {column: attribute for attribute, column in section.columns.items()}
    keys = (section.person, section.household)
    besides = (*key_columns(section.person), section.household, section.weight)
    columns = [str(column) for column in frame.columns if str(column) not in besides]
    names = section.attributes or tuple(shown.get(column, column) for column in columns)
    for key, named in (("trees", trees), ("release.columns", section.columns)):
        require_among("no such attribute", named, names, where=key)
    column_of = {name: section.columns.get(name, name) for name in names}
    require_columns(frame, column_of.values(), path)
    people = None if population is None else population_over(population, names)
    if truth is not None:
        require_columns(truth, column_of.values(), loaded.folder / str(section.persons))
    made, codes, own, attributes = {}, [], [], []
    for name, column in column_of.items():
        declared = _declared_tree(name, trees[name], loaded.folder) if name in trees else None
        known = None if people is None else people.domain[name]
        if declared is not None and known is not None and declared.attribute != known:
            raise InputError(
                "the value tree and the population have different values",
                where=f"trees.{name}",
                found=listed(declared.attribute.categories),
                expected=listed(known.categories),
            )
        with locating(path):
            attribute, tree = _values(name, frame[column], declared, known, None if truth is None else truth[column])
            codes.append((attribute if tree is None else tree).encode(frame[column], column))
        if truth is not None:
            with locating(loaded.folder / str(section.persons)):
                own.append(attribute.encode(truth[column], column))
                _require_included(own[-1], codes[-1], attribute, tree, column, section)
        attributes.append(attribute)
        if tree is not None:
            made[name] = tree
    persons = np.column_stack(own) if own else None
    weights = None if section.weight is None else weights_in(frame, section.weight, path)
    person, household = (None if key is None else keys_of_records(frame, key, path) for key in keys)
    if person is not None and household is not None:
        require_same(household, person, "household", path, str(section.household))
    domain = Domain(tuple(attributes))
    return Release(domain, np.column_stack(codes), made, persons, weights, person, household), people


def _true_values(path: Path, section: RiskReleaseSection, n_records: int) -> pd.DataFrame:
    frame = read_table(path, delimiter=section.delimiter, comment="#")
    if len(frame) != n_records:
        raise InputError(
            "the file of persons does not match the records",
            source=path,
            found=f"{len(frame)} rows",
            expected=f"{n_records} rows, as in {section.path}",
        )
    return frame


def _require_included(
    own: Codes, shown: Codes, attribute: Attribute, tree: ValueTree | None, column: str, section: RiskReleaseSection
) -> None:
    """Check that the released value of each record includes the person's true value."""
    included = own == shown if tree is None else tree.chain[own, tree.depth[shown]] == shown
    if not included.all():
        row = int((~included).argmax())
        labels = attribute.categories if tree is None else tree.labels
        raise InputError(
            "the released record does not include the person's value",
            where=f"row {row + 1}, column {column!r}",
            found=attribute.categories[own[row]],
            expected=f"{labels[shown[row]]!r} or a value in this group, as in {section.path}",
        )


def _values(
    name: str,
    column: pd.Series[str],
    declared: ValueTree | None,
    known: Attribute | None,
    truth: pd.Series[str] | None,
) -> tuple[Attribute, ValueTree | None]:
    """Return an attribute, and its tree if it has groups or suppressed values."""
    missing = (column == "").to_numpy()
    expected = f"a value, or {SUPPRESSED!r} for a suppressed value"
    refuse_rows(missing, "value missing", column=column.name, expected=expected)
    shown = column[column != SUPPRESSED]
    seen = shown if truth is None else pd.concat([shown, truth[(truth != SUPPRESSED) & (truth != "")]])
    if declared is None and known is None and not len(seen):
        hint = "remove the attribute from release.attributes"
        raise InputError("every value is suppressed", where=f"column {column.name!r}", hint=hint)
    given = known if declared is None else declared.attribute
    attribute = given or Attribute(name, natural_categories(seen))
    nodes = attribute.categories if declared is None else declared.labels
    if len(shown) == len(column) or SUPPRESSED in nodes:
        return attribute, declared
    return attribute, _with_everything_above(declared or _without_groups(attribute))


def _without_groups(attribute: Attribute) -> ValueTree:
    return ValueTree(attribute, attribute.categories, np.full(attribute.size, TOP, dtype=np.int32))


def _with_everything_above(tree: ValueTree) -> ValueTree:
    """Return the tree with a new root that includes every value."""
    parent = np.where(tree.parent == TOP, tree.n_nodes, tree.parent)
    return ValueTree(tree.attribute, (*tree.labels, SUPPRESSED), np.append(parent, TOP).astype(np.int32))


def _declared_tree(name: str, section: TreeSection, folder: Path) -> ValueTree:
    with locating(where=f"trees.{name}"):
        if section.file is None:
            return ValueTree.from_groups(name, section.groups)
        rows = read_hierarchy_rows(folder / section.file, delimiter=section.delimiter)
        attribute = Attribute(name, tuple(dict.fromkeys(row[0] for row in rows)))
        return ValueTree.from_hierarchy(hierarchy_from_rows(attribute, rows))
