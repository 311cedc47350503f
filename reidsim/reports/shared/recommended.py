"""The recommended release and its runner-up, in the sentences of the report and of `serve`."""

from __future__ import annotations

from collections.abc import Mapping

from reidsim.errors import listed
from reidsim.reports.shared.limit import odds
from reidsim.reports.shared.releases import Releases
from reidsim.wording import Code, Inline, counted


def recommendation(releases: Releases, payoffs: Mapping[str, float], unit: str) -> tuple[Inline, ...]:
    """Return which release is recommended, why, and which one comes next.

    Parameters
    ----------
    releases : Releases
    payoffs : mapping of str to float
        Publisher's payoff of the policies to choose between.
    unit : str
        What payoffs are counted per.
    """
    ranked = releases.ranked(payoffs)
    limit = odds(releases.limit.value)
    first = ranked[0]
    if not releases.is_within_limit(first):
        or_limits = " or the limits on sensitive columns" * bool(releases.by_policy[first].counted.inferred)
        return (
            f"No release is recommended: every policy exceeds the risk limit of {limit}{or_limits}. The lowest risk, "
            f"{odds(releases.by_policy[first].counted.risk.highest)}, is that of ", Code(first), ".",
            *_written(releases, first),
        )  # fmt: skip
    risk, inside = releases.by_policy[first].counted.risk, sum(map(releases.is_within_limit, ranked))
    among = f", the most of the {inside} releases" if inside > 1 else " and is the only release"
    parts: list[Inline] = [
        "Recommended release: ", Code(first), f". It pays {payoffs[first]:,.2f} per {unit}{among} within the risk "
        f"limit of {limit}. Highest risk counted in its rows: {odds(risk.record)} for a record, {odds(risk.person)} "
        "for a person who is looked up. ",
    ]  # fmt: skip
    if contradiction := disagreement(releases, first):
        parts += [f"However, {contradiction}. "]
    if len(ranked) > 1:
        second = ranked[1]
        highest = odds(releases.by_policy[second].counted.risk.highest)
        beyond = "" if releases.is_within_limit(second) else ", above the limit"
        parts += ["Runner-up: ", Code(second)]
        parts += [f", {payoffs[second]:,.2f} per {unit}, highest risk {highest}{beyond}."]
    return (*parts, *_written(releases, first))


def _written(releases: Releases, first: str) -> tuple[Inline, ...]:
    """Return which release the written file holds, if there is one."""
    if releases.written is None:
        return ()
    policy = str(releases.sidecar["policy"])
    name = Code(releases.written.name)
    if policy == first and releases.is_within_limit(first):
        return (" The written file ", name, " holds the recommended release.")
    beyond = "" if releases.is_within_limit(policy) else ", which exceeds the limit"
    return (" The written file ", name, " holds the release of ", Code(policy), f"{beyond}.")


def disagreement(releases: Releases, policy: str) -> str:
    """Return how the rows of a release contradict the game, after "but"; empty if they do not."""
    release = releases.by_policy[policy]
    audit, risk = release.counted.audit, release.counted.risk
    easier = audit["people_more_exposed_than_promised"]
    parts = []
    if easier:
        people = counted(audit["people"], "person", "people")
        parts.append(f"{easier:,} of {people} are easier to find in the rows than the game computes")
    if audit["rows_that_do_not_fit_their_record"]:
        parts.append(f"{counted(audit['rows_that_do_not_fit_their_record'], 'row')} do not fit the record behind them")
    if not releases.limit.allows(risk):
        parts.append(f"the highest risk counted in the rows, {odds(risk.highest)}, is above the limit")
    if revealed := release.counted.revealed:
        parts.append(f"the rows reveal more of {listed(revealed)} than the scenario's limits allow")
    return " and ".join(parts)
