"""Provide background knowledge about the subjects of a masking scenario."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.adversaries.knowledge.load import RecordsFile, load_knowledge
from reidsim.adversaries.multistage.world import PersonTable
from reidsim.errors import InputError
from reidsim.kinds.masking.tables import NO_ALLELE, MaskingTables
from reidsim.populations.domain import Attribute, Domain


@dataclass(frozen=True, eq=False)
class KnowledgeOfSubjects:
    """A knowledge recipe, with the possible values of the attributes it reveals.

    Parameters
    ----------
    recipe : str
        Name or path of the recipe.
    tables : MaskingTables
    domain : Domain
        Attributes on which the adversary links. The values cover the whole population, or all files, so they are equal
        in every draw.
    """

    recipe: str
    tables: MaskingTables
    domain: Domain

    @classmethod
    def of(cls, recipe: str, tables: MaskingTables) -> KnowledgeOfSubjects:
        """Collect the possible values of the linked attributes from the tables.

        Raises
        ------
        InputError
            If alleles of a linked locus are unknown for a person.
        """
        attributes = []
        for name in tables.loaded.scenario.linked_on:
            labels = tables.labels.get(name)
            if labels is None:
                holders = [table.columns[name] for table in tables.files.values() if name in table.columns]
                values = np.unique(np.concatenate(holders) if holders else tables.values[name])
                if name in tables.loci and values[0] == NO_ALLELE:
                    raise InputError(
                        "linkage on a locus needs known alleles",
                        where="adversary.resource",
                        found=name,
                        expected="a resource without the locus",
                    )
                labels = tuple(map(str, values.tolist()))
            attributes.append(Attribute(name, labels))
        return cls(recipe, tables, Domain(tuple(attributes)))

    def about(self, targets: PersonTable) -> Knowledge:
        """Return the knowledge about the given subjects.

        Raises
        ------
        InputError
            If the recipe is invalid or does not fit the subjects. For subjects from a file, the message names the file
            and the row.
        """
        scenario, loaded = self.tables.loaded.scenario, self.tables.loaded
        columns = [
            targets.column(attribute.name)
            if attribute.name in self.tables.labels
            else np.searchsorted(np.array(attribute.categories, dtype=np.int64), targets.column(attribute.name))
            for attribute in self.domain.attributes
        ]
        records = RecordsFile(targets.name, scenario.targets.columns) if self.tables.files else None
        codes = np.column_stack(columns).astype(np.int32)
        try:
            return load_knowledge(self.recipe, self.domain, codes, base=loaded.folder, records=records)
        except InputError as error:
            raise error if error.source else error.located(loaded.path, "adversary.knowledge") from None
