"""Build an attack in stages on the records of a lattice from an attack recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import LatticeAttackLinker
from reidsim.adversaries.multistage.world import MultistageWorld, PersonTable
from reidsim.bundled import BUNDLED, data_file, resolve
from reidsim.errors import InputError, locating, refuse_first, refuse_rows
from reidsim.kinds.tables.release import columns_of_release
from reidsim.linkage.row_groups import RowGroups
from reidsim.populations.catalogue import as_individuals, make
from reidsim.populations.counted import natural_categories
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.scenarios.attack_recipe import AttackRecipe, AttackResourceSection, stage_of
from reidsim.tables import numbers, read_table, require_columns
from reidsim.validation import read_toml, validated

if TYPE_CHECKING:
    from reidsim.kinds.tables.study import TablesStudy

Integers = NDArray[np.int64]

# Code of an unknown allele.
_NO_ALLELE = 0
# Limit of `PersonTable` on the people in a row; checked here to name the place in the file.
_MOST_PEOPLE = 2**31


@dataclass(frozen=True, eq=False)
class StagedAttack:
    """An attack in stages and its linker of records.

    Parameters
    ----------
    attack : MultistageAttack
        The attack with gain and cost 0; see `by`.
    linker : LatticeAttackLinker
    """

    attack: MultistageAttack
    linker: LatticeAttackLinker

    def by(self, gain: float | NDArray[np.float64], cost: float | NDArray[np.float64]) -> MultistageAttack:
        """Return the attack with a gain and a cost, in currency units per record."""
        return replace(self.attack, gain=gain, cost=cost)


@dataclass(frozen=True, eq=False)
class _Labels:
    """Rows of attributes as text, "" for unknown values, and the people per row."""

    source: str
    frame: pd.DataFrame
    counts: Integers | None = None


def staged_records(study: TablesStudy, path: Path) -> tuple[TablesStudy, StagedAttack]:
    """Combine an attack in stages with the records of a study.

    Parameters
    ----------
    study : TablesStudy
    path : Path
        Path of the attack recipe.

    Returns
    -------
    TablesStudy
        The same study; cells are split by inferred attributes that are not quasi-identifiers.
    StagedAttack

    Raises
    ------
    InputError
        If the recipe or one of its resources cannot be used. The error names the file.
    """
    recipe = validated(AttackRecipe, read_toml(path), path)
    lattice, cell_of_record = study.lattice, study.cell_of_record
    columns = {name: recipe.columns.get(name, name) for name in recipe.inferred if name not in lattice.domain.names}
    if not columns:
        return study, _staged(recipe, path, lattice, pd.DataFrame(index=range(lattice.n_records)))
    try:
        truth = columns_of_release(study.loaded, columns)[1]
    except InputError as error:
        hint = f"add the true values of the attribute to the records, because {path} infers the attribute"
        raise error.but(hint=hint) from None
    values = [pd.factorize(truth[name])[0].astype(np.int64) for name in truth]
    groups = RowGroups([cell_of_record.astype(np.int64), *values], len(cell_of_record)).group_of_row
    first = np.unique(groups, return_index=True)[1]
    if len(first) == lattice.n_records:
        # The cells are fine enough already, so that their order stays.
        first = np.unique(cell_of_record, return_index=True)[1]
    else:
        study = _on_finer_cells(study, cell_of_record[first], groups.astype(np.intp))
    return study, _staged(recipe, path, study.lattice, truth.iloc[first].reset_index(drop=True))


def _on_finer_cells(study: TablesStudy, old: NDArray[np.intp], cell_of_record: NDArray[np.intp]) -> TablesStudy:
    """Return the study on finer cells; `old` is the former cell of each, (n_cells,)."""
    lattice, persons, dataset = study.lattice_of(study.lattice.codes[old]), study.persons, study.dataset
    rows: NDArray[np.integer[Any]] = old
    if persons is not None:
        persons, rows = persons.on_cells(lattice, cell_of_record, old)
        dataset = persons.counted(dataset.name)
    return study.of_rows(rows, lattice=lattice, cell_of_record=cell_of_record, persons=persons, dataset=dataset)


def _staged(recipe: AttackRecipe, path: Path, lattice: GeneralizationLattice, truth: pd.DataFrame) -> StagedAttack:
    with locating(path):
        stages = tuple(stage_of(section, path.parent) for section in recipe.stages)
        attack = MultistageAttack(stages, 0.0, 0.0, recipe.confidence_threshold)
        attack.check_attributes(lattice.domain.names)
        world = _world(recipe, path.parent, lattice, truth)
        on = attack.identify.on
        registry = world.resource(attack.identify.resource)
        groups = RowGroups([registry.column(name) for name in on], registry.n_rows)
        # The person of a record counts as listed if a registry row agrees in all attributes on which the attack links.
        listed = np.asarray(groups.find([world.targets.column(name) for name in on], world.n_targets) >= 0)
        world = MultistageWorld(world.targets, world.resources, listed)
        return StagedAttack(attack, LatticeAttackLinker(attack, world, lattice))


def _world(recipe: AttackRecipe, folder: Path, lattice: GeneralizationLattice, truth: pd.DataFrame) -> MultistageWorld:
    tables = {name: _resource(name, recipe, folder) for name in recipe.resources}
    targets: dict[str, Integers] = {}
    coded: dict[str, Callable[[_Labels, str], Integers]] = {}
    for position, hierarchy in enumerate(lattice.hierarchies):
        name, codes = hierarchy.attribute.name, lattice.codes[:, position].astype(np.int64)
        is_locus = name in recipe.loci
        targets[name] = _alleles_of(hierarchy)[codes] if is_locus else codes
        coded[name] = _alleles if is_locus else partial(_codes, hierarchy.attribute.labels)
    for name in map(str, truth.columns):
        values = pd.concat([truth[name], *(table.frame[name] for table in tables.values() if name in table.frame)])
        coded[name] = partial(_codes, pd.Index(natural_categories(values[values != ""])))
        targets[name] = coded[name](_Labels("the records", truth), name)
    resources = {}
    for resource, table in tables.items():
        columns = {name: coded[name](table, name) for name in map(str, table.frame.columns)}
        resources[resource] = PersonTable(resource, columns, table.counts)
    return MultistageWorld(PersonTable("the records", targets), resources)


def _resource(name: str, recipe: AttackRecipe, folder: Path) -> _Labels:
    """Read the attributes of a resource that the stages need."""
    section, needed = recipe.resources[name], recipe.needed_of(name)
    problem, expected = "no stage uses the resource", "a resource of a stage"
    refuse_first((not needed, problem, f"resources.{name}", None, expected))
    read = _from_population if section.file is None else _from_file
    try:
        return read(section, needed, folder)
    except InputError as error:
        raise error if error.source else error.located(where=f"resources.{name}") from None


def _from_population(section: AttackResourceSection, needed: tuple[str, ...], folder: Path) -> _Labels:
    made = make(resolve(str(section.population), "populations", "population", base=folder))
    counts = None
    if isinstance(made, Population):
        problem, expected = "the population has expected counts", "whole numbers of people"
        refuse_first((not np.issubdtype(made.counts.dtype, np.integer), problem, None, made.name, expected))
        made = made.marginal(needed)
        domain, codes, counts = made.domain, made.cells, made.counts.astype(np.int64)
    else:
        people = as_individuals(made).select(needed)
        domain, codes = people.domain, people.codes
    columns = {
        attribute.name: np.append(np.array(attribute.categories, dtype=object), "")[codes[:, position]]
        for position, attribute in enumerate(domain.attributes)
    }
    return _Labels(str(section.population), pd.DataFrame(columns, dtype="str"), counts)


def _from_file(section: AttackResourceSection, needed: tuple[str, ...], folder: Path) -> _Labels:
    file = str(section.file)
    path = data_file(file, folder, "populations")
    # In a user's file, a row may begin with any character, as in a file of records.
    comment = "#" if file.startswith(BUNDLED) else None
    frame = read_table(path, delimiter=section.delimiter, comment=comment, encoding=section.encoding)
    columns = {attribute: section.columns.get(attribute, attribute) for attribute in needed}
    require_columns(frame, columns.values(), path)
    counts = None
    if section.count is not None:
        require_columns(frame, [section.count], path)
        given = np.asarray(numbers(frame, section.count, path), dtype=np.float64)
        refuse_rows(given != np.floor(given), "not a whole number", source=path, column=section.count, found=given)
        shown, expected = frame[section.count], "a number below 2**31"
        too_large, problem = given >= _MOST_PEOPLE, "count too large"
        refuse_rows(too_large, problem, source=path, column=section.count, found=shown, expected=expected)
        counts = given.astype(np.int64)
    return _Labels(str(path), pd.DataFrame({name: frame[column] for name, column in columns.items()}), counts)


def _codes(known: pd.Index[str], table: _Labels, name: str) -> Integers:
    """Return the position of each text in the list of the attribute's values."""
    texts = table.frame[name]
    codes = known.get_indexer(pd.Index(texts)).astype(np.int64)
    expected = f"one of {', '.join(known[:5])}{', ...' if len(known) > 5 else ''}"
    of_records = "" if (texts[codes < 0][:1] == "").any() else " from the attribute of the records"
    _refuse(codes < 0, table, name, f"value missing{of_records}", expected)
    return codes


def _alleles(table: _Labels, name: str) -> Integers:
    """Return a column of text as numbers of repeats; 0 if unknown."""
    column = table.frame[name].mask(table.frame[name] == "", str(_NO_ALLELE))
    expected = "a whole number, or an empty cell if unknown"
    wrong = ~column.str.fullmatch(r"\d{1,9}").to_numpy()
    _refuse(wrong, table, name, "not a whole number of repeats", expected)
    return column.to_numpy().astype(np.int64)


def _refuse(wrong: NDArray[np.bool_], table: _Labels, name: str, problem: str, expected: str) -> None:
    """Refuse the first wrong value of a column; an empty one is not shown."""
    if wrong.any():
        row = int(wrong.argmax())
        where, found = f"row {row + 1}, {name!r}", table.frame[name].iloc[row] or None
        raise InputError(problem, source=table.source, where=where, found=found, expected=expected)


def _alleles_of(hierarchy: Hierarchy) -> Integers:
    """Return the number of repeats of each value of a locus."""
    name, generalized = hierarchy.attribute.name, any(groups > 1 for groups in hierarchy.n_groups[1:])
    where, expected = f"attributes.{name}.hierarchy", 'rule = "suppress"'
    refuse_first((generalized, "alleles cannot be generalized", where, None, expected))
    categories = pd.DataFrame({name: list(hierarchy.attribute.categories)}, dtype="str")
    return _alleles(_Labels("the records", categories), name)
