"""Schema of the tables and subjects of a masking scenario."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, nearest, refuse_first, require_distinct
from reidsim.kinds.masking.policy import PolicyName, policy_named
from reidsim.scenarios.amounts import Count, Delimiter, PopulationSeed, Share, Text
from reidsim.scenarios.policy import K_ANONYMITY, WITH_K_ANONYMITY, AnonymityK, with_each_k, with_policy
from reidsim.scenarios.read_keys import ReadIf, with_key
from reidsim.scenarios.resource_schema import DrawnResourceSection, Together
from reidsim.scenarios.schema import RECORD_COLUMNS
from reidsim.validation import Section

Years = Count


class PeopleSection(Section):
    """The population that supplies targets and resources."""

    recipe: str = Field(description="bundled population, or path of a recipe, with one row per person")
    seed: PopulationSeed = None
    generations: Years | None = Field(
        default=None,
        description="number of latest generations of a genealogy from which men are taken; default: all people",
    )
    women: bool = Field(
        default=False, description="with `generations`: whether women, who have no known alleles, are taken too"
    )
    reference_year: int | None = Field(
        default=None, description="year in which ages are computed from `birth_year`; adds the attribute `age`"
    )
    together: Together = 0.0

    @model_validator(mode="after")
    def _of_generations(self) -> PeopleSection:
        if self.women and self.generations is None:
            raise InputError("the key needs generations", where="women", expected="this key only with generations")
        return self


class TableSection(Section):
    """The people in a table: drawn from the population, or the rows of a file."""

    size: Count | None = Field(default=None, description="number of people drawn from the population")
    file: Text | None = Field(default=None, description="CSV or Parquet file of people, in place of `size`")
    delimiter: Annotated[Delimiter, with_key("file")] = Field(default=",", description="column separator of a CSV file")
    columns: Annotated[dict[str, str], with_key("file")] = Field(
        default={}, description="column of the file, by attribute; default: the attribute's name"
    )

    @model_validator(mode="after")
    def _one_origin(self) -> TableSection:
        self.check_origin()
        return self

    def check_origin(self) -> None:
        """Check that exactly one key defines the people of the table.

        Raises
        ------
        InputError
            If both or neither of `size` and `file` are set.
        """
        if (self.size is None) == (self.file is None):
            raise InputError("the people of the table are missing or given twice", expected="either size or file")


class TargetsSection(TableSection):
    """The subjects, who decide about their records."""

    person: Text | None = Field(default=None, description="column that identifies the person, without repeated values")

    @model_validator(mode="after")
    def _keyed_file(self) -> TargetsSection:
        if self.person is not None and self.file is None:
            raise InputError("drawn subjects have no key", where="person", found=self.person, expected="a file")
        return self


def _is_inferred_from(section: Any, scenario: Any) -> bool:
    """Return whether an adversary infers surnames from a resource."""
    stages = [stage for each in scenario.every_adversary.values() for stage in each.stages]
    return any(stage.stage == "infer-surname" and scenario.resources.get(stage.resource) is section for stage in stages)


_INFERRED_FROM = ReadIf(_is_inferred_from, "with a stage that infers surnames from this resource")


class ResourceSection(DrawnResourceSection, TableSection):
    """A table of people that the adversary has.

    With a `kind`, it is a list drawn from the people; otherwise a sample or a file.
    """

    holds: Annotated[
        Literal["targets", "others", "anyone"],
        ReadIf(
            lambda section, scenario: section.file is None or section.holds == "targets",
            'without a file, or with the value "targets"',
        ),
    ] = Field(
        default="anyone",
        description="people in a drawn table: all subjects and other people (`targets`), only people in no "
        "table with `targets` and no other table with `others` (`others`), or people drawn at "
        "random (`anyone`); in a file, `targets` checks that all subjects are present",
    )
    attributes: tuple[str, ...] = Field(min_length=1, description="attributes in the table")
    missing_alleles: Annotated[Share | None, _INFERRED_FROM] = Field(
        default=None,
        description="share of unknown alleles; default: 0.3 in a list of kind `genealogy`, otherwise 0",
    )
    count: Text | None = Field(
        default=None, description="column with the number of people in each row; default: one person per row"
    )

    @model_validator(mode="after")
    def _one_origin(self) -> ResourceSection:
        if self.kind is None:
            self.check_origin()
        return self

    @model_validator(mode="after")
    def _fits_origin(self) -> ResourceSection:
        require_distinct("attribute given twice", self.attributes, where="attributes")
        of_file = self.file is not None
        no_loss = "missing_alleles is not supported with a file"
        refuse_first(
            (
                self.kind == "file" and (not of_file or self.size is not None),
                'a list of kind "file" needs a file',
                "file",
                None,
                "a file, and no size",
            ),
            (
                self.kind is None and self.coverage is not None,
                "the key needs a list drawn from the people",
                "coverage",
                None,
                "a `kind`",
            ),
            (
                self.kind not in (None, "file") and of_file,
                "a drawn list has no file",
                "file",
                self.file,
                'this key only with kind = "file"',
            ),
            (
                self.is_list and "holds" in self.model_fields_set,
                "members of a list are drawn",
                "holds",
                self.holds,
                "coverage, or no `kind` for a sample",
            ),
            (self.is_list and self.count is not None, "a list has a row for each person", "count", self.count, None),
            (
                of_file and self.missing_alleles,
                no_loss,
                "missing_alleles",
                self.missing_alleles,
                "empty cells for missing alleles in the file",
            ),
            (not of_file and self.count is not None, "the key needs a file", "count", self.count, "a file"),
        )
        return self


class GeneralizedAttribute(Section):
    """Levels of an attribute between shared and masked."""

    widths: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        default=(),
        description="width of the intervals at each level; intervals start at 0, and each width is a multiple "
        "of the previous one",
    )
    groups: tuple[tuple[tuple[str, ...], ...], ...] = Field(
        default=(), description="groups of values at each level; a value without a group stays unchanged"
    )
    kept: tuple[Share, ...] = Field(
        min_length=1, description="share of the attribute's weight that remains at each level, not increasing"
    )

    @model_validator(mode="after")
    def _one_way(self) -> GeneralizedAttribute:
        levels = len(self.widths) or len(self.groups)
        for finer, coarser in pairwise(self.widths):
            if coarser % finer:
                raise InputError(
                    "intervals do not fit into the intervals of the next level",
                    where="widths",
                    found=list(self.widths),
                    expected=f"a multiple of {finer} after {finer}",
                )
        if bool(self.widths) == bool(self.groups) or levels != len(self.kept):
            raise InputError(
                "the levels are incomplete",
                found=f"{len(self.widths)} widths, {len(self.groups)} groupings, {len(self.kept)} shares kept",
                expected="either widths or groups, and one kept share for each level",
            )
        return self


class SubjectsSection(Section):
    """The attributes that data subjects may share, their value, and the policies."""

    attributes: tuple[str, ...] = Field(min_length=1, description="attributes that subjects can share, with loci last")
    always_shared: tuple[str, ...] = Field(
        default=(),
        description="attributes that cannot be masked; not with policy `k-anonymity`",
    )
    weights: Literal["entropy", "uniform"] | dict[str, Annotated[float, Field(ge=0)]] = Field(
        default="entropy",
        description="weight of each attribute in the benefit: its entropy in the first resource that has it, "
        "equal weights, or your own numbers by attribute",
    )
    minority_support: float = Field(
        default=0.0,
        description="alpha: additional weight of rare values, or of frequent values if negative",
    )
    generalize: dict[str, GeneralizedAttribute] = Field(
        default={}, description="levels between shared and masked, by attribute"
    )
    policies: tuple[PolicyName, ...] = Field(
        default=("opt-in", "masking", "no-attack-masking"),
        min_length=1,
        description="policies to compare, each named once",
    )
    solver: Annotated[
        Literal["best-first", "backward-induction", "greedy", "anytime"],
        ReadIf(
            lambda section, scenario: any(policy_named(name).search == "scenario" for name in section.policies),
            "with a policy that solves a masking game",
        ),
    ] = Field(default="best-first", description="algorithm that solves the policies that are games")
    most_evaluated: Annotated[
        Count,
        ReadIf(
            lambda section, scenario: section.solver == "anytime" or "anytime-masking" in section.policies,
            'with solver = "anytime" or policy "anytime-masking"',
        ),
    ] = Field(default=20_000, description="with solver `anytime`: largest number of strategies evaluated per subject")
    k: Annotated[AnonymityK, WITH_K_ANONYMITY] = 2
    opt_in_rate: Annotated[Share, with_policy("random-opt-in")] = Field(
        default=0.05, description="with policy `random-opt-in`: probability that a subject shares all attributes"
    )
    sharing_rate: Annotated[Share, with_policy("random-masking")] = Field(
        default=0.15, description="with policy `random-masking`: probability that an attribute is shared"
    )

    @model_validator(mode="after")
    def _consistent(self) -> SubjectsSection:
        require_distinct("attribute given twice", self.attributes, where="attributes")
        taken = [name for name in self.attributes if name in (*RECORD_COLUMNS, "gap")]
        if taken:
            raise InputError("attribute name reserved for a column of the results", where="attributes", found=taken[0])
        # A policy with several values of k has one name for each k.
        object.__setattr__(self, "policies", with_each_k(self.policies, self.k))
        require_distinct("policy given twice", self.policies, where="policies")
        for name in self.generalize:
            if name not in self.attributes:
                hint = nearest(name, self.attributes)
                raise InputError("not an attribute that can be shared", where=f"generalize.{name}", hint=hint)
        always = self.always_shared
        first, merged = list(self.attributes[: len(always)]), [name for name in always if name in self.generalize]
        anonymous = any(name.startswith(K_ANONYMITY) for name in self.policies)
        refuse_first(
            (
                first != list(always),
                "always shared attributes are not first in the list of attributes",
                "always_shared",
                list(always),
                str(first),
            ),
            (merged, "an always shared attribute is generalized", f"generalize.{next(iter(merged), None)}", None, None),
            (
                always and anonymous,
                "policy k-anonymity can suppress every attribute",
                "always_shared",
                None,
                "no always shared attributes",
            ),
        )
        return self
