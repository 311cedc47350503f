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

    recipe: str = Field(description="name of a bundled population, or path of a recipe, that lists people")
    seed: PopulationSeed = None
    generations: Years | None = Field(
        default=None, description="of a genealogy: men of this many last generations; everybody if not given"
    )
    women: bool = Field(default=False, description="with `generations`: also the women, of whom no alleles are known")
    reference_year: int | None = Field(
        default=None, description="gives people an `age`, counted from their `birth_year`"
    )
    together: Together = 0.0

    @model_validator(mode="after")
    def _of_generations(self) -> PeopleSection:
        if self.women and self.generations is None:
            raise InputError("without generations everybody is there", where="women", expected="it with generations")
        return self


class TableSection(Section):
    """The people in a table: drawn from the population, or the rows of a file."""

    size: Count | None = Field(default=None, description="people drawn")
    file: Text | None = Field(default=None, description="CSV or Parquet file instead")
    delimiter: Annotated[Delimiter, with_key("file")] = Field(default=",", description="between columns of a CSV file")
    columns: Annotated[dict[str, str], with_key("file")] = Field(
        default={}, description="attribute = column of the file, where the names differ"
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
        """
        if (self.size is None) == (self.file is None):
            raise InputError("nobody is in the table, or two say who", expected="either size or file")


class TargetsSection(TableSection):
    """The subjects, who decide about their records."""

    person: Text | None = Field(default=None, description="column that identifies the person, without repeated values")

    @model_validator(mode="after")
    def _keyed_file(self) -> TargetsSection:
        if self.person is not None and self.file is None:
            raise InputError("subjects who are drawn have no key", where="person", found=self.person, expected="a file")
        return self


def _is_inferred_from(section: Any, scenario: Any) -> bool:
    """Return whether an adversary infers surnames from a resource."""
    stages = [stage for each in scenario.every_adversary.values() for stage in each.stages]
    return any(stage.stage == "infer-surname" and scenario.resources.get(stage.resource) is section for stage in stages)


_INFERRED_FROM = ReadIf(_is_inferred_from, "with a stage that infers surnames from the resource")


class ResourceSection(DrawnResourceSection, TableSection):
    """A table that the adversary owns.

    With a `kind`, it is a list drawn from the people; otherwise a sample or a file.
    """

    holds: Annotated[
        Literal["targets", "others", "anyone"],
        ReadIf(
            lambda section, scenario: section.file is None or section.holds == "targets",
            'without a file, or as "targets"',
        ),
    ] = Field(
        default="anyone",
        description="all subjects and more people, nobody of another such table, or people at random; in a file, "
        '`"targets"` is checked',
    )
    attributes: tuple[str, ...] = Field(min_length=1, description="attributes that it carries")
    missing_alleles: Annotated[Share | None, _INFERRED_FROM] = Field(
        default=None,
        description="share of unknown alleles; 0 if not given, 0.3 of a genealogy",
    )
    count: Text | None = Field(default=None, description="column with the number of people of each row")

    @model_validator(mode="after")
    def _one_origin(self) -> ResourceSection:
        if self.kind is None:
            self.check_origin()
        return self

    @model_validator(mode="after")
    def _fits_origin(self) -> ResourceSection:
        require_distinct("attribute given twice", self.attributes, where="attributes")
        of_file = self.file is not None
        no_loss = "alleles of a file are not lost"
        refuse_first(
            (self.kind == "file" and (not of_file or self.size is not None),
             "rows of the list come from a file", "file", None, "it, and no size"),
            (self.kind is None and self.coverage is not None,
             "only a list drawn from the people has it", "coverage", None, "a `kind`"),
            (self.kind not in (None, "file") and of_file,
             "list that is drawn", "file", self.file, 'it with kind = "file"'),
            (self.is_list and "holds" in self.model_fields_set,
             "who is in a list is drawn", "holds", self.holds, "coverage, or no `kind` for a sample"),
            (self.is_list and self.count is not None,
             "a list has a row for each person", "count", self.count, None),
            (of_file and self.missing_alleles,
             no_loss, "missing_alleles", self.missing_alleles, "alleles left empty in the file"),
            (not of_file and self.count is not None,
             "people who are drawn are not counted", "count", self.count, "a file"),
        )  # fmt: skip
        return self


class GeneralizedAttribute(Section):
    """Levels of an attribute between shared and masked."""

    widths: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        default=(), description="widths of intervals at each level, from 0 on; each a multiple of the one before"
    )
    groups: tuple[tuple[tuple[str, ...], ...], ...] = Field(
        default=(), description="values merged at each level; others stay alone"
    )
    kept: tuple[Share, ...] = Field(
        min_length=1, description="share of the attribute's weight kept at each level, not rising"
    )

    @model_validator(mode="after")
    def _one_way(self) -> GeneralizedAttribute:
        levels = len(self.widths) or len(self.groups)
        for finer, coarser in pairwise(self.widths):
            if coarser % finer:
                raise InputError(
                    "intervals that do not fit into those of the next level",
                    where="widths", found=list(self.widths), expected=f"a multiple of {finer} after {finer}",
                )  # fmt: skip
        if bool(self.widths) == bool(self.groups) or levels != len(self.kept):
            raise InputError(
                "levels are missing",
                found=f"{len(self.widths)} widths, {len(self.groups)} groupings, {len(self.kept)} shares kept",
                expected="either widths or groups, and a share kept for each",
            )
        return self


class SubjectsSection(Section):
    """The attributes that data subjects may share, their value, and the policies."""

    attributes: tuple[str, ...] = Field(min_length=1, description="attributes that can be shared; loci last")
    always_shared: tuple[str, ...] = Field(
        default=(),
        description="attributes that cannot be masked; not with `k-anonymity`",
    )
    weights: Literal["entropy", "uniform"] | dict[str, Annotated[float, Field(ge=0)]] = Field(
        default="entropy",
        description="entropy in the first resource that carries it, all equal, or attribute = weight",
    )
    minority_support: float = Field(
        default=0.0,
        description="alpha: extra weight of rare values; below 0, of frequent ones",
    )
    generalize: dict[str, GeneralizedAttribute] = Field(
        default={}, description="attribute = its levels between shared and masked"
    )
    policies: tuple[PolicyName, ...] = Field(
        default=("opt-in", "masking", "no-attack-masking"),
        min_length=1,
        description="policies compared, the columns of the table, each once",
    )
    solver: Annotated[
        Literal["best-first", "backward-induction", "greedy", "anytime"],
        ReadIf(
            lambda section, scenario: any(policy_named(name).search == "scenario" for name in section.policies),
            "with a policy that is a masking game",
        ),
    ] = Field(default="best-first", description="of the policies that are games")
    most_evaluated: Annotated[
        Count,
        ReadIf(
            lambda section, scenario: section.solver == "anytime" or "anytime-masking" in section.policies,
            'with solver = "anytime" or policy "anytime-masking"',
        ),
    ] = Field(default=20_000, description="of solver `anytime`: most strategies evaluated per subject")
    k: Annotated[AnonymityK, WITH_K_ANONYMITY] = 2
    opt_in_rate: Annotated[Share, with_policy("random-opt-in")] = Field(
        default=0.05, description="of policy `random-opt-in`: probability to share all"
    )
    sharing_rate: Annotated[Share, with_policy("random-masking")] = Field(
        default=0.15, description="of policy `random-masking`: probability to share each attribute"
    )

    @model_validator(mode="after")
    def _consistent(self) -> SubjectsSection:
        require_distinct("attribute given twice", self.attributes, where="attributes")
        taken = [name for name in self.attributes if name in (*RECORD_COLUMNS, "gap")]
        if taken:
            raise InputError("name of a column of the results", where="attributes", found=taken[0])
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
            (first != list(always),
             "attributes that are always shared do not come first in the list of attributes",
             "always_shared", list(always), str(first)),
            (merged, "attribute always shared as it is", f"generalize.{next(iter(merged), None)}", None, None),
            (always and anonymous,
             "policy k-anonymity suppresses any attribute",
             "always_shared", None, "attributes that can all be masked"),
        )  # fmt: skip
        return self
