"""What each policy does, in a few words."""

from __future__ import annotations

from reidsim.reports.page.stored_run import StoredRun

_RECORDS = {
    "safe-harbor": "follows the HIPAA Safe Harbor rule for ages and ZIP codes",
    "basic": "picks for each record the form with the largest expected payoff, attacked or not",
    "no-attack": "picks for each record the best form among those that the adversary does not attack",
    "sh-friendly": "picks for each record the best form among those at least as general as Safe Harbor's",
    "no-protection": "shares every record as it is",
    "suppress-all": "suppresses every quasi-identifier",
}
_TABLE = {
    "basic": "generalizes all records alike and suppresses some, so that the payoff is largest",
    "no-attack": "does the same, among the ways in which nobody is attacked",
    "sh-friendly": "does the same, among the ways at least as general as Safe Harbor's",
    "local-recoding": "does the same, then again for the records suppressed, until that pays nothing more",
    "local-recoding-no-attack": "is local recoding under which nobody is attacked",
    "multi-dimensional": "generalizes each combination of values in its own way",
    "record-level": "sends every record to its own best form",
    "record-level-no-attack": "sends every record to its own best form that is not attacked",
}
_SUBJECTS = {
    "no-protection": "shares everything",
    "demographics-only": "shares what the last stage of the attack links on, against an adversary who infers nothing",
    "random-opt-in": "shares everything with a given probability, else nothing",
    "random-masking": "shares each attribute with a given probability",
    "opt-in": "shares everything if that pays more than 0, else nothing",
    "masking": "shares the attributes that pay most",
    "no-attack-masking": "shares what pays most among the choices that are not attacked",
    "one-stage-masking": "shares what pays most against an adversary who infers nothing",
    "same-strategy": "is one choice for all, with the highest mean payoff",
    "k-anonymity": "suppresses cells until every released row occurs k times",
}
_BY_GAME = {"tables": {**_TABLE, **_RECORDS}, "record-level": _RECORDS, "masking": _SUBJECTS}

# Policies of the masking game that meet an adversary who infers nothing: their payoffs are of another game.
_ANOTHER_GAME = ("demographics-only", "one-stage-masking")


def in_another_game(game: str, policy: str) -> bool:
    """Tell whether a policy of a game meets another adversary than the others, so that payoffs do not compare."""
    return game == "masking" and policy in _ANOTHER_GAME


def policy_words(run: StoredRun) -> dict[str, str]:
    """Return what each policy of a run does, by name; those unknown here are left out."""
    known = {**_RECORDS, **_TABLE} if run.is_of_one_form else _BY_GAME.get(run.game, {})
    names = run.runs["policy"].astype(str).unique() if "policy" in run.runs else ()
    return {name: known[name] for name in names if name in known}
