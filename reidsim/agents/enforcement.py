"""Detection of exploits, and exclusion of detected adversaries from later rounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.outcomes import AdversaryOutcome, subject_draws
from reidsim.agents.profile import AdversaryProfile, Setting

Floats = NDArray[np.float64]


def no_exclusion(rounds: int) -> Floats:
    """Return the state of an adversary who is not excluded; see `next_state`.

    Parameters
    ----------
    rounds : int
        Duration of an exclusion, in rounds.

    Returns
    -------
    ndarray of float64, shape (rounds + 1,)
    """
    state = np.zeros(rounds + 1)
    state[0] = 1.0
    return state


def next_state(state: Floats, detected: float) -> Floats:
    """Return the exclusion state of an adversary in the next round.

    Parameters
    ----------
    state : ndarray of float64, shape (exclusion + 1,)
        Entry k is the probability that k rounds of exclusion remain; with k = 0 the adversary is free to act.
    detected : float
        Probability that an exploit was detected in this round, given that the adversary was free to act.

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
    """Return the probability that at least one exploit is detected.

    Parameters
    ----------
    exploits : float
        Expected number of exploits.
    detection : float
        Probability that an exploit is detected.
    """
    return float(1.0 - (1.0 - detection) ** exploits) if exploits > 0 else 0.0


def detections(
    setting: Setting, profile: AdversaryProfile, outcome: AdversaryOutcome, exploits: Floats, round_number: int
) -> float:
    """Return the expected or drawn number of an adversary's detected exploits.

    If outcomes are drawn, it is the number of records with at least one detected exploit.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    profile : AdversaryProfile
        Profile of the adversary; its name selects the random stream.
    outcome : AdversaryOutcome
        Outcome of the adversary's attacks.
    exploits : ndarray of float64, shape (n_cells,)
        Expected number of exploits per record attacked.
    round_number : int
        Number of the round, from 1.
    """
    detection = setting.enforcement.detection
    if outcome.attacked is None:
        return detection * outcome.exploits
    draws = subject_draws(setting, "detections", profile.name, round_number)
    any_detected = (1.0 - (1.0 - detection) ** exploits)[setting.cell_of_subject]
    return float((outcome.attacked & (draws < any_detected)).sum())
