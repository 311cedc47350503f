"""Exclusion of detected adversaries: how likely each is still excluded from one round to the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.outcomes import AdversaryOutcome, subject_draws
from reidsim.agents.profile import AdversaryProfile, Setting

Floats = NDArray[np.float64]


def no_exclusion(rounds: int) -> Floats:
    """Return the state of an adversary who is free to act, when exclusion lasts so many rounds; see `next_state`."""
    state = np.zeros(rounds + 1)
    state[0] = 1.0
    return state


def next_state(state: Floats, detected: float) -> Floats:
    """Move on to the next round.

    Parameters
    ----------
    state : ndarray of float64, shape (exclusion + 1,)
        Probability that so many rounds of exclusion are left; at 0 the adversary may act.
    detected : float
        Probability that an exploit of the adversary was detected in this round, if it was free to act.

    Returns
    -------
    ndarray of float64, shape (exclusion + 1,)
    """
    if len(state) == 1:
        return state
    after = np.append(state[1:], 0.0)
    after[0] += state[0] * (1.0 - detected)
    after[-1] += state[0] * detected
    return after


def detection_of_any(exploits: float, detection: float) -> float:
    """Return the probability that at least one of an expected number of exploits is detected."""
    return float(1.0 - (1.0 - detection) ** exploits) if exploits > 0 else 0.0


def detections(
    setting: Setting, profile: AdversaryProfile, outcome: AdversaryOutcome, exploits: Floats, round_number: int
) -> float:
    """Return the number of exploits of an adversary that were detected, or the expected number.

    Where outcomes are drawn, it is the number of records at which at least one exploit was.

    Parameters
    ----------
    setting : Setting
    profile : AdversaryProfile
    outcome : AdversaryOutcome
    exploits : ndarray of float64, shape (n_cells,)
        Expected exploits per record attacked.
    round_number : int
    """
    detection = setting.enforcement.detection
    if outcome.attacked is None:
        return detection * outcome.exploits
    draws = subject_draws(setting, "detections", profile.name, round_number)
    any_detected = (1.0 - (1.0 - detection) ** exploits)[setting.cell_of_subject]
    return float((outcome.attacked & (draws < any_detected)).sum())
