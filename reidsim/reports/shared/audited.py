"""Audit the released records of a policy, as plain data and as text, and limit their risk.

The risk limit, by default one in eleven, applies to both risks of `FileRisk`: of a record, and of a person who is
looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.release import ReleaseAudit, TrueRecords, diversity, values_of_groups
from reidsim.core.errors import InputError, listed
from reidsim.core.tables import coded
from reidsim.core.validation import merged, validated
from reidsim.core.wording import counted
from reidsim.linkage.people import share_of_values
from reidsim.populations.population import added_up
from reidsim.reports.shared.records import SharedRecords, classes_of, singled_out
from reidsim.reports.writer import lines_of, odds
from reidsim.scenarios.kind import kind_of_content

# Classes of numbers of people in `by_fitting_rows`, by upper end; k = 11 and k = 20 are thresholds in use.
_CLASSES = {"0": 0, "1": 1, "2": 2, "3-4": 4, "5-10": 10, "11-19": 19, "20 or more": np.inf}
# Threshold of the European Medicines Agency and of Health Canada for files that are made public.
_USUAL_LIMIT = 1 / 11
# Relative rounding error up to which a success probability, a quotient of counts, equals the limit.
_ROUNDING = 1e-9
DEFINITION = (
    "counted in the written file for an adversary who knows its people and all true quasi-identifiers: for each "
    "shared row, the people of the release with matching true values; for each person, the people whose rows match "
    "their true values (the fewest, over the person's rows). An equivalence class is the set of people whose shared "
    "rows are equal in all quasi-identifiers"
)

RISK_OF_FILE = (
    "highest probability, over the records and the people of the file, that an adversary identifies the person of a "
    "record or finds a record of a person, counted in the written file; the adversary knows who is in the file, all "
    "quasi-identifiers, and every kept column that is not declared unknown to outsiders, and excludes people to whom a "
    "row cannot belong because each row belongs to another record; after rounds or waves, the adversary knows who took "
    "part in each, and in which of them each record was released"
)
# Column of an audit with the rounds of a record; no file has a column of this name.
LINKED = "\0linked"
RISK_OF_GAME = (
    "highest probability, over the shared records, that an attack on the record identifies its person, as the game "
    "computes it for an adversary who does not know who is in the file, or not all quasi-identifiers; kept columns are "
    "not considered"
)
RISK_OF_PERTURBATION = (
    "highest posterior probability, over the shared records, of the most probable person, as the game computes it for "
    "an adversary who knows the method of perturbation, its strengths and the quasi-identifiers of all people; kept "
    "columns and a search from a person to the record are not considered, so that both numbers are equal"
)


INFERENCE = (
    "for each shared row, the sensitive values of the matching records of the release; for each person with a "
    "shared row, the sensitive values of the shared rows that match the person's true values; distances are from all "
    "values of the release; a person counts once, and once for each of its values"
)


@dataclass(frozen=True)
class FileRisk:
    """Highest probability of a successful re-identification in a file.

    Parameters
    ----------
    record : float
        Highest probability, over the released records, that an attack on the record identifies its person.
    person : float
        Highest probability, over the people in the file, that a person who is looked up is matched to an own record.
    basis : str
        Definition of both probabilities, as text.
    known : tuple of str
        Names of the kept columns that the adversary is assumed to know.
    excludes : bool
        Whether the adversary excludes people who match a row, because all rows are assigned to people at once.
    """

    record: float
    person: float
    basis: str
    known: tuple[str, ...] = ()
    excludes: bool = False

    @property
    def highest(self) -> float:
        """Larger of the two probabilities, `record` and `person`."""
        return max(self.record, self.person)

    def facts(self, limit: Limit) -> dict[str, Any]:
        """Return the risk and its limit as plain data, for sidecars.

        Entries: both probabilities, their definition, the kept columns that the adversary knows, the limit with its
        origin, and whether the risk is above the limit.
        """
        return {
            "definition": self.basis,
            "record": self.record,
            "person": self.person,
            "kept_columns_known": list(self.known),
            "limit": limit.value,
            "limit_is": limit.reason,
            "above_limit": not limit.allows(self),
        }


@dataclass(frozen=True)
class Limit:
    """Limit on the risk of a file that may be written.

    Parameters
    ----------
    value : float
        Maximum probability.
    reason : str
        Origin of the value, such as the default or the user's option.
    """

    value: float
    reason: str

    def allows(self, risk: FileRisk) -> bool:
        """Return whether the risks of a record and of a person are within the limit.

        They may exceed it by rounding.
        """
        return risk.highest <= self.value * (1 + _ROUNDING)

    def require(self, risk: FileRisk, policy: str, content: Mapping[str, Any]) -> None:
        """Check that the risks of a record and of a person are within the limit; `policy` is named in messages.

        Parameters
        ----------
        risk : FileRisk
        policy : str
        content : mapping
            The scenario as plain data; the message names ``adversary.direction`` only if the scenario can set it.

        Raises
        ------
        InputError
            If they are not; the message names the higher risk, the limit and the alternatives.
        """
        if self.allows(risk):
            return
        of_person = risk.person > risk.record
        unit = "a person searched for in the file" if of_person else "a record"
        protects = ""
        if risk.excludes:
            unit += " if all rows are assigned to people at once"
            protects = '; with publisher.unit = "table" and a policy for the table, nobody can be excluded'
        if (of_person or risk.excludes) and _may_search_for_people(content):
            protects += '; set adversary.direction = "both" to protect people also with no-attack'
        if risk.known:
            unit += f" for an adversary who knows {listed(risk.known)}"
            protects += "; declare kept columns that no outsider knows with --unknown-to-outsiders"
        raise InputError(
            f"not written: under policy {policy!r} the risk of {unit} is {odds(risk.highest)}",
            where="--max-risk",
            expected=f"at most {odds(self.value)} ({self.reason})",
            hint=f"raise --max-risk, or write the file anyway with --accept-risk{protects}",
        )


def _may_search_for_people(content: Mapping[str, Any]) -> bool:
    """Return whether the adversary does not search for people yet, and may in this scenario."""
    searching = merged(content, {"adversary": {"direction": "both"}})
    if searching == content:
        return False
    try:
        validated(kind_of_content(content).schema, searching, "scenario")
    except InputError:
        return False
    return True


def limit_of(max_risk: float | None, content: Mapping[str, Any]) -> Limit:
    """Return the limit on the risk set by the user or by a scenario, or the default, one in eleven.

    Raises
    ------
    InputError
        If `max_risk` is not in [0, 1].
    """
    in_scenario = content.get("publisher", {}).get("max_risk")
    if max_risk is None:
        return Limit(_USUAL_LIMIT, "the default") if in_scenario is None else Limit(in_scenario, "set by the scenario")
    if not 0 <= max_risk <= 1:
        raise InputError("probability out of range", where="--max-risk", found=max_risk, expected="0 to 1")
    return Limit(max_risk, "set by the user")


@dataclass(frozen=True, eq=False)
class Release:
    """Released rows of a policy, and their audit.

    Parameters
    ----------
    shared : SharedRecords
        Released rows with the kept columns.
    risk : FileRisk
        Highest probability of re-identification.
    audit : dict
        Other counts, in the format of sidecars.
    people_of_row : ndarray of int64, shape (n_real_rows,)
        Number of people whose true values match each row, without counterfeit rows.
    """

    shared: SharedRecords
    risk: FileRisk
    audit: dict[str, Any]
    people_of_row: NDArray[np.int64]

    @property
    def keeps_promise(self) -> bool:
        """Whether the released rows confirm the risk that the game computes.

        No person may be easier to find than the game computes, no assignment of all rows to people may exclude people
        who match, and each row must match its source record. Where the game's risk cannot be compared with the rows,
        only the last condition counts.
        """
        return not (
            self.audit["people_more_exposed_than_promised"]
            or self.audit["rows_that_do_not_fit_their_record"]
            or self.excludes_people
        )

    @property
    def excludes_people(self) -> bool:
        """Whether an assignment of all rows to people leaves fewer people for a row than match any row.

        It is no matter for policies without attacks that rely on equal rows alone, as for people with several rows.
        """
        possible, source = self.audit["fewest_possible_people_of_a_row"], self.shared.source
        on_equal_rows = source.kind.policy(self.shared.policy).forbids_attacks and source.people.has_several.any()
        fewer = possible is not None and possible < self.audit["fewest_people_of_a_row"]
        return fewer and not (on_equal_rows and getattr(source.scenario, "looks_up", False))

    @property
    def unconsidered(self) -> list[str]:
        """Kept columns that outsiders may know, and that the risk does not consider."""
        return [name for name in self.shared.kept_columns if name not in {*self.shared.declared, *self.risk.known}]

    @property
    def revealed(self) -> list[dict[str, Any]]:
        """Entries of the audit on sensitive columns that exceed the scenario's limits.

        The released rows reveal more of these columns than the limits allow. The list is empty without limits.
        """
        return [each for each in self.audit.get("inference", []) if each["rows_beyond"] or each["people_beyond"]]

    @property
    def warnings(self) -> list[str]:
        """Warnings about kept columns without a risk, and about results of `audit` that contradict the game's risk."""
        return lines_of("audit_warnings", release=self)

    def require_limits(self) -> None:
        """Check that the rows meet the inference limits of the scenario.

        Raises
        ------
        InputError
            If they do not; the message names the first column, the limits and the alternatives.
        """
        for each in self.revealed:
            rows, people = counted(each["rows_beyond"], "row"), counted(each["people_beyond"], "person", "people")
            raise InputError(
                f"not written: under policy {self.shared.policy!r} the file reveals more of column {each['column']!r} "
                f"than the scenario allows, for {rows} and for {people} with known quasi-identifiers",
                where="publisher.sensitive",
                found=f"{counted(each['fewest_values'], 'value')} among the matching rows, one value for "
                f"{each['largest_share']:.2%} of their people, t-closeness {each['largest_distance']:.4g}",
                expected=", ".join(f"{key} = {limit}" for key, limit in each["limits"].items()),
                hint='set publisher.unit = "table", try other policies, or use --accept-risk to write the file anyway',
            )


def audited_release(shared: SharedRecords) -> Release:
    """Return the released rows of a policy with their risk and audit.

    Parameters
    ----------
    shared : SharedRecords
        Records that the policy releases, with their true values.

    Raises
    ------
    InputError
        If the rows would not protect the column that the policy promises to protect, or kept columns single out too
        many people.
    """
    table, times, represented = shared.table, shared.times, shared.source.represented
    audited, classes = _audit_of(shared), classes_of(table, list(shared.quasi_identifiers))
    # Counterfeits have no person, but a reader of the file counts their values.
    audit, real = _audit_facts(shared, audited), shared.is_real
    if shared.is_perturbed:
        # Labels differ from the true values on purpose. When the rows are written, each is compared with its labels.
        audit |= {"perturbed_rows": audited.misfits, "rows_that_do_not_fit_their_record": 0}
    audit["kept"] = [diversity(name, table[name], classes, times) for name in shared.kept_columns]
    protected = {"sensitive": _sensitive_facts(shared, classes), "inference": _inference_facts(shared, audited)}
    audit |= {name: facts for name, facts in protected.items() if facts}
    kept, person = table.loc[real, shared.kept_columns], shared.source.persons[shared.own[real]]
    most = shared.kept.max_singled_out
    audit["singled_out"] = singled_out(classes[real], kept, person, shared.declared, most, represented)
    return Release(shared, _file_risk(shared, audited), audit, audited.people_of_row)


def _audit_of(shared: SharedRecords, known: Sequence[str] = (), *, links: bool = False) -> ReleaseAudit:
    """Audit released records.

    Parameters
    ----------
    shared : SharedRecords
        Records of the file, with their true values.
    known : sequence of str
        Kept columns that the adversary knows in addition to the quasi-identifiers.
    links : bool
        Whether the adversary links the rows with earlier releases, if there are any.
    """
    source, quasi, real = shared.source, shared.quasi_identifiers, shared.is_real
    released, truth = shared.table.loc[real, list(quasi)].rename(columns=quasi), source.truth
    linked = shared.forms.history if links else None
    for number, name in enumerate(known):
        # Kept values are released unchanged. Codes in their place cannot be read as intervals or sets.
        (codes, values), (found, texts) = coded(source.frame[name]), coded(shared.table.loc[real, name])
        labels, column = pd.Index([f"v{code}" for code in range(len(values))]), f"kept {number}"
        released[column] = pd.Categorical.from_codes(values.get_indexer(texts)[found], labels)
        truth = truth.assign(**{column: pd.Categorical.from_codes(codes, labels)})
    if linked is not None:
        own, candidates = _histories(linked)
        released, truth = released.assign(**{LINKED: candidates[shared.own[real]]}), truth.assign(**{LINKED: own})
    changed = truth is not source.truth
    true = truth, source.persons, source.hierarchies, source.represented, source.times
    people = TrueRecords(*true) if changed else source.people
    # An adversary does not know which rows are counterfeit.
    assigns = source.columns.counts_release and shared.sensitive is None
    return people.audit(released, shared.own[real], shared.present, assigns=assigns)


def _histories(history: pd.DataFrame) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Return the history of each record, and the set of histories of the people to whom the record can belong.

    Both are text in the notation of cells. These people took part in every round in which the record was released, and
    their own record was released in no other round. `history` is as in `ChosenForms`.
    """
    code, distinct = pd.factorize(pd.MultiIndex.from_frame(history))
    rounds = [[{*text.split(", ")} - {""} for text in texts] for texts in distinct]
    names = [f"v{number}" for number in range(len(rounds))]
    sets = [
        ", ".join(name for name, (took_part, other) in zip(names, rounds, strict=True) if other <= own <= took_part)
        for _, own in rounds
    ]
    return np.array(names, dtype=np.object_)[code], np.array([f"{{{each}}}" for each in sets], dtype=np.object_)[code]


def _file_risk(shared: SharedRecords, audit: ReleaseAudit) -> FileRisk:
    """Return the highest probability of re-identification in a file.

    If the scenario's adversary knows who is in the file and all quasi-identifiers, risks are
    counted in the file; the adversary is assumed to know also every kept column that is not declared unknown to
    outsiders. The risk of a record is at least the highest success probability in the game, if the game counts
    re-identifications.

    Other adversaries cannot determine whether a person is in the file. For them, both risks are the highest success
    probability in the game, because looking up a person succeeds no more often than attacking the matching record.
    For perturbed values, both are the highest posterior probability in the game.

    Parameters
    ----------
    shared : SharedRecords
        Records of the file, with their true values.
    audit : ReleaseAudit
        Audit of the file, without kept columns.
    """
    if shared.is_perturbed:
        return FileRisk(shared.forms.highest_risk, shared.forms.highest_risk, RISK_OF_PERTURBATION)
    if not shared.source.columns.counts_release:
        return FileRisk(shared.forms.highest_risk, shared.forms.highest_risk, RISK_OF_GAME)
    known = [name for name in shared.kept_columns if name not in shared.declared]
    if known or shared.forms.history is not None:
        audit = _audit_of(shared, known, links=True)
    promised = shared.forms.highest_risk if shared.source.columns.identifies else 0.0
    excludes = bool((audit.possible_people_of_row < audit.people_of_row).any())
    return FileRisk(max(audit.risk_of_row, promised), audit.risk_of_person, RISK_OF_FILE, tuple(known), excludes)


def _sensitive_facts(shared: SharedRecords, classes: NDArray[np.int64]) -> dict[str, Any]:
    """Return the diversity of the protected column over all classes, as plain data.

    Entries: name of the column, `m` (see `SensitiveColumn`), the fewest distinct values of a class, and the largest
    share of a value in the rows of a class, with counterfeit rows. It is empty if the policy protects no column, or the
    file has no rows. `classes` has the equivalence class of each row, from 0.

    Raises
    ------
    InputError
        If a class has too few distinct values, or one value in too many of its rows.
    """
    sensitive = shared.sensitive
    if sensitive is None or not len(shared.table):
        return {}
    values = pd.DataFrame({"of": classes, "value": shared.table[sensitive.name].str.strip()})
    counts = values.groupby(["of", "value"], observed=True).size().groupby("of", observed=True)
    different, share = counts.size().to_numpy(), (counts.max() / counts.sum()).to_numpy()
    wrong = (different < sensitive.m) | (share * sensitive.m > 1 + 1e-12)
    if wrong.any():
        at = int(wrong.argmax())
        raise InputError(
            f"policy {shared.policy!r}: {counted(int(wrong.sum()), 'class', 'classes')} of the file would not protect "
            f"column {sensitive.name!r}",
            source=shared.source.run.folder,
            found=f"{counted(int(different[at]), 'value')}, one of them in {share[at]:.0%} of the rows",
            expected=f"at least {sensitive.m} values, each in at most 1 of {sensitive.m} rows",
        )
    return {
        "column": sensitive.name,
        "m": sensitive.m,
        "fewest_values_of_a_class": int(different.min()),
        "largest_share_of_a_value": float(share.max()),
    }


def _audit_facts(shared: SharedRecords, audit: ReleaseAudit) -> dict[str, Any]:
    """Return an audit as plain data; see `DEFINITION` for the counts.

    Minima are None if there is no row. ``people_more_exposed_than_promised`` is the number of people with a higher risk
    in the file than in the game. It is None if the game assumes that the adversary does not know who is in the file, or
    not all quasi-identifiers, because the game then promises less than the file can be tested for; if inference of a
    sensitive value counts as success; and for perturbed values. A perturbed row fits its record if it has the labels of
    the run; ``perturbed_rows`` is the number of rows that exclude the true values.
    """
    possible = audit.possible_people_of_row
    shown, shown_people = audit.rows_of_person[audit.is_shared], audit.represented[audit.is_shared]
    exposed: int | None = None
    if shared.source.columns.counts_release and shared.source.columns.identifies and not shared.is_perturbed:
        promised = np.zeros(len(audit.represented))
        np.maximum.at(promised, shared.source.persons, shared.forms.success)
        exposed = audit.easier_than(promised)
    present = audit.represented > 0
    numbers, number = np.unique(audit.rows_of_person[present], return_inverse=True)
    people = added_up(audit.represented[present], number, len(numbers))
    return {
        "definition": DEFINITION,
        "people": audit.people,
        "people_shared": int(shown_people.sum()),
        "fewest_people_of_a_row": int(audit.people_of_row.min()) if len(audit.people_of_row) else None,
        "fewest_rows_of_a_person": int(shown.min()) if len(shown) else None,
        "people_by_fitting_rows": dict(zip(map(str, numbers.tolist()), people.tolist(), strict=True)),
        "people_who_fit_one_alone": int(shown_people[shown == 1].sum()),
        "people_more_exposed_than_promised": exposed,
        "fewest_possible_people_of_a_row": int(possible.min()) if len(possible) else None,
        "rows_of_one_possible_person": int(shared.times[shared.is_real] @ (possible == 1)),
        "smallest_class": int(audit.class_sizes.min()) if len(audit.class_sizes) else None,
        "rows_that_do_not_fit_their_record": audit.misfits,
    }


def summary_of(sidecar: Mapping[str, Any]) -> str:
    """Return a summary of the sidecar of a released file, as text of a few lines.

    The sidecar is the description of the file, as a mapping.
    """
    lines = lines_of("shared", sidecar=sidecar, by_fitting_rows=by_fitting_rows(sidecar["audit"]))
    return "\n".join(filter(str.strip, lines))


def by_fitting_rows(facts: Mapping[str, Any]) -> str:
    """Return, as text, how many people have rows of how many people that fit them.

    `facts` is the audit of a file, in the format of sidecars. A class such as ``2: 14`` means that the true values of
    14 people fit the shared rows of 2 people. Classes without people are omitted.
    """
    numbers = [int(number) for number in facts["people_by_fitting_rows"]]
    places = np.searchsorted(list(_CLASSES.values()), numbers)
    counts = np.bincount(places, weights=list(facts["people_by_fitting_rows"].values()), minlength=len(_CLASSES))
    return ", ".join(f"{name}: {count:,.0f}" for name, count in zip(_CLASSES, counts, strict=True) if count)


def _inference_facts(shared: SharedRecords, audit: ReleaseAudit) -> list[dict[str, Any]]:
    """Return how well a released file allows inference of each sensitive column.

    The result is a list with one dict per sensitive column of the file. It is empty if the scenario sets no limits, or
    the file has no rows. Inference uses two kinds of groups: for each released row, the source records that match it;
    for each person with a released row, the released rows that match the person. The dict has the name of the column
    and the limits that are set. Over all groups of both kinds, it has the minimum number of distinct values, the
    largest share of one value (the highest probability of a correct inference), and the largest earth mover's distance
    from the distribution of values in all source records. It also has the number of rows, and of people, whose group
    violates at least one limit.
    """
    written, represented = shared.table, audit.represented
    if shared.source.limited is None or not len(written):
        return []
    attributes, limits = shared.source.limited
    stated = {key: limit for key, limit in vars(limits).items() if limit is not None}
    cell, form, fits = audit.cell_of_truth, audit.form_of_release, audit.possible
    real, found = shared.is_real, []
    for attribute in attributes:
        if attribute.name not in written:
            continue
        number = dict(zip(shared.source.frame[attribute.name].str.strip(), attribute.codes.tolist(), strict=True))
        # Written values come from source records, so each value has a code.
        codes = written.loc[real, attribute.name].str.strip().map(number).to_numpy(dtype=np.int64)
        persons, levels = shared.source.persons, attribute.levels
        overall = share_of_values(attribute.codes, persons, levels.shape[1], represented)
        owners = persons[shared.own[real]]
        groups = [
            (values_of_groups(fits.T.tocsr(), cell, persons, attribute.codes, levels, overall, represented), form),
            (values_of_groups(fits, form, owners, codes, levels, overall, represented), cell[shared.own[real]]),
        ]
        beyond_of_row, beyond_of_person = (~limits.hold(values)[place] for values, place in groups)
        found.append(
            {
                "definition": INFERENCE,
                "column": attribute.name,
                "limits": stated,
                "fewest_values": min(int(values.distinct[place].min()) for values, place in groups),
                "largest_share": max(float(values.largest_share[place].max()) for values, place in groups),
                "largest_distance": max(float(values.distance()[place].max()) for values, place in groups),
                "rows_beyond": int(shared.times[real][beyond_of_row].sum()),
                "people_beyond": int(represented[np.unique(owners[beyond_of_person])].sum()),
            }
        )
    return found
