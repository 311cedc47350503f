"""How much risk may be written without being asked for: the highest risk of a shared record, and its limit."""

from __future__ import annotations

from dataclasses import dataclass

from reidsim.errors import InputError
from reidsim.reports.shared.forms import chosen_forms, policies_of
from reidsim.reports.shared.records import SharedRecords

# One in eleven, the threshold of the European Medicines Agency and of Health Canada for files that are made public.
USUAL_LIMIT = 1 / 11
RISK_DEFINITION = (
    "highest probability, over the shared records, that an attack on the record as released names its person, whether "
    "or not the adversary of the scenario attacks it"
)


@dataclass(frozen=True)
class Limit:
    """The highest risk of a single record that may be written.

    Parameters
    ----------
    value : float
    reason : str
        Where it comes from.
    """

    value: float
    reason: str

    def allows(self, risk: float) -> bool:
        """Tell whether a risk is no higher."""
        return risk <= self.value * (1 + 1e-9)


def limit_of(shared: SharedRecords, given: float | None = None) -> Limit:
    """Return the limit: the one given, that of the run's best policy that forbids attacks, or one in eleven.

    What the best such policy shares is what its publisher took to be safe in this very scenario. The best is the one
    that pays most; the first, in a kind without payoffs.

    Raises
    ------
    InputError
        If the limit given is not a probability.
    """
    if given is not None:
        if not 0 <= given <= 1:
            raise InputError("not a probability", where="--max-risk", found=given, expected="0 to 1")
        return Limit(given, "as asked")
    source = shared.source
    run, kind = source.run, source.kind
    pays = run.runs["publisher_payoff"] if "publisher_payoff" in run.runs else -run.runs.index.to_series()
    payoffs = pays.groupby(run.runs["policy"].astype("str"), observed=True).mean()
    safe = [name for name in policies_of(run) if name in kind.policies and kind.policies[name].forbids_attacks]
    for name in sorted(safe, key=lambda policy: -payoffs[policy]):
        forms = chosen_forms(run, kind, source.scenario, list(source.columns.column_of), name)
        if forms.shared.any():
            return Limit(forms.highest_risk, f"that of {name}")
    return Limit(USUAL_LIMIT, "one in eleven, as no policy of the run forbids attacks and shares records")


def require_within(shared: SharedRecords, limit: Limit, *, accept: bool) -> None:
    """Check that what is going to be written has no higher risk than its limit.

    Raises
    ------
    InputError
        If it has, and that is not accepted.
    """
    risk = shared.forms.highest_risk
    if accept or limit.allows(risk):
        return
    raise InputError(
        f"the highest risk of a record as policy {shared.policy!r} releases it is {risk:.4f}",
        where="--max-risk", expected=f"{limit.value:.4f} at most ({limit.reason})",
        hint="--accept-risk writes it all the same",
    )  # fmt: skip
