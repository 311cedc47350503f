"""The counts in the rows that a run would share, policy by policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reidsim.reports.page.blocks import Block, Bullets, Cell, Table, paragraph
from reidsim.reports.shared.audited import DEFINITION, audit_warnings, by_fitting_rows
from reidsim.reports.shared.limit import odds
from reidsim.reports.shared.releases import Release, Releases
from reidsim.wording import Code, Inline

# Policies that the first page shows.
_POLICIES_SHOWN = 4


def read_back_table(releases: Releases, ranked: Sequence[str]) -> Block:
    """Return the read-back of each release, recommended first.

    Parameters
    ----------
    releases : Releases
    ranked : sequence of str
        Policies in this order.
    """
    rows: list[list[Cell]] = []
    for policy in ranked[:_POLICIES_SHOWN]:
        counted = releases.by_policy[policy].counted
        audit, risk = counted.audit, counted.risk
        rows.append(
            [
                Code(policy),
                _number(audit["smallest_class"]),
                _number(audit["people_who_fit_one_alone"]),
                _number(audit["people_more_exposed_than_promised"]),
                odds(risk.record),
                odds(risk.person),
                "yes" if releases.is_within_limit(policy) else "NO",
            ]
        )
    header: list[Inline] = [
        "Release", "Smallest class, people", "People who match one row only", "People easier to find than promised",
        "Highest risk of a record", "Highest risk of a person looked up",
        f"Within the limit of {odds(releases.limit.value)}",
    ]  # fmt: skip
    return Table(header, rows, _caption(releases, ranked), text_columns=frozenset({0, 6}))


def _caption(releases: Releases, ranked: Sequence[str]) -> str:
    if releases.written is None:
        what = "Counted in the rows of each release; no file that reidsim share wrote of this run was found"
    else:
        policy, digest = releases.sidecar["policy"], releases.sidecar["sha256"]
        what = f"Read back from the written file {releases.written.name} (release {policy}, SHA-256 {digest[:12]}...)"
        what += ", and counted in the rows of the other releases"
    kept = sorted({name for policy in ranked for name in releases.by_policy[policy].shared.kept_columns})
    return what + (f"; kept columns: {', '.join(kept)}" if kept else "; no column is kept")


def declared_columns(release: Release) -> Iterator[Block]:
    """Yield the kept columns that the user declared unknown to outsiders, with the people whom each singles out."""
    declared, people = release.shared.declared, release.counted.people
    items = tuple(
        (
            Code(name), f": would single out {people.by_declared[name] / people.people:.1%} of the people "
            f"({people.by_declared[name]:,} of {people.people:,}); reason: {reason}.",
        )
        for name, reason in declared.items()
        if name in people.by_declared
    )  # fmt: skip
    if items:
        yield paragraph("Kept columns that were declared unknown to outsiders:")
        yield Bullets(items)


def audit_blocks(releases: Releases | None) -> Iterator[Block]:
    """Yield further counts in the rows of every release, and where they contradict the game."""
    if releases is None:
        return
    yield paragraph(
        f"These numbers are {DEFINITION}. They do not depend on the game. The game asks whose row a row is; these "
        "counts also ask which row belongs to a given person."
    )
    rows: list[list[Cell]] = [
        [
            Code(name),
            _number(release.counted.audit["fewest_people_of_a_row"]),
            _number(release.counted.audit["fewest_rows_of_a_person"]),
            by_fitting_rows(release.counted.audit),
        ]
        for name, release in releases.by_policy.items()
    ]
    header = [
        "Release", "Fewest people who fit a row", "Fewest people whose rows a person fits",
        "People by the number of people whose rows fit them",
    ]  # fmt: skip
    yield Table(header, rows, "The rows of each release", text_columns=frozenset({0, 3}))
    for name, release in releases.by_policy.items():
        for warning in audit_warnings(release.counted.audit, name, release.shared.forms.highest_risk):
            yield paragraph(warning, kind="warning")


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "-"
