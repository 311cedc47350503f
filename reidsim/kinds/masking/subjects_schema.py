"""What the subjects of a scenario of the masking game may share, what it is worth, and how they decide."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, nearest, require_distinct
from reidsim.kinds.masking.policies import PolicyName, policy_named
from reidsim.scenarios.adversary_schema import Share
from reidsim.scenarios.policy import AnonymityK, with_each_k
from reidsim.scenarios.schema import RECORD_COLUMNS
from reidsim.validation import Section


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
    """What the data subjects may share, its worth, and how they decide."""

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
    solver: Literal["best-first", "backward-induction", "greedy", "anytime"] = Field(
        default="best-first", description="of the policies that are games"
    )
    most_evaluated: Annotated[int, Field(ge=1)] = Field(
        default=20_000, description="of solver `anytime`: most strategies evaluated per subject"
    )
    k: AnonymityK = Field(
        default=2,
        description="of policy `k-anonymity`; a list makes several, such as `k-anonymity-5`",
    )
    opt_in_rate: Share = Field(default=0.05, description="of policy `random-opt-in`: probability to share all")
    sharing_rate: Share = Field(
        default=0.15, description="of policy `random-masking`: probability to share each attribute"
    )

    @model_validator(mode="after")
    def _consistent(self) -> SubjectsSection:
        require_distinct("attribute given twice", self.attributes, where="attributes")
        taken = [name for name in self.attributes if name in (*RECORD_COLUMNS, "gap")]
        if taken:
            raise InputError("name of a column of the results", where="attributes", found=taken[0])
        # Wherever policies are named, that of each k has its own name.
        object.__setattr__(self, "policies", with_each_k(self.policies, self.k))
        require_distinct("policy given twice", self.policies, where="policies")
        for name in self.generalize:
            if name not in self.attributes:
                hint = nearest(name, self.attributes)
                raise InputError("not an attribute that can be shared", where=f"generalize.{name}", hint=hint)
        always = self.always_shared
        if self.attributes[: len(always)] != always:
            raise InputError(
                "attributes that are always shared do not come first in the list of attributes",
                where="always_shared", found=list(always), expected=f"{list(self.attributes[: len(always)])}",
            )  # fmt: skip
        for name in always:
            if name in self.generalize:
                raise InputError("attribute always shared as it is", where=f"generalize.{name}")
        if always and any(policy_named(name).way == "k-anonymity" for name in self.policies):
            expected = "attributes that can all be masked"
            raise InputError("policy k-anonymity suppresses any attribute", where="always_shared", expected=expected)
        return self
