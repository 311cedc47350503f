"""The sequential attack as a factored MDP (Xia et al. 2015, section 4)."""

from __future__ import annotations

from collections.abc import Mapping

from reidsim.adversaries.sequential.attack import SequentialAttack
from sequential_programs.factored_mdp import Action, Factor, FactoredMdp, State, Term, expand
from sequential_programs.linear_program import solve_linear_program

# Table 1: terminated, detected, penalties paid, succeeded, accessed, linked, group size, candidates remaining.
VARIABLES = ("X_t", "X_d", "X_p", "X_s", "X_a", "X_l", "X_g", "X_r")
OUTSET: State = (0, 0, 0, 0, 0, 0, 0, 0)


def linked_state(group_size: int) -> State:
    """Return x_start: registry held, record linked, no candidate exploited yet."""
    return (0, 0, 0, 0, 1, 1, group_size, group_size)


def attack_process(attack: SequentialAttack, belief: Mapping[int, float]) -> FactoredMdp:
    """Declare the attack's variables, actions, rewards and transitions.

    Parameters
    ----------
    attack : SequentialAttack
    belief : mapping of int to float
        Probability of each group size in the adversary's belief before access.

    Returns
    -------
    FactoredMdp
        Its first action is to terminate, so the adversary stops when indifferent.

    Notes
    -----
    The gain is a reward of the state to which an exploit leads (Eq. 2). With penalty timing "next-state", so is the
    penalty, and X_p counts it once that state is left. With "at-action" timing the exploit is charged its expected
    penalty and X_p counts at once. Penalties are counted up to n_f only, and not at all if levied every time.
    """
    detection = attack.detection(max(belief, default=0) + 1)
    most = attack.max_penalties
    later = attack.penalty_timing == "next-state"

    def stop(terminated: int, succeeded: int, linked: int, remaining: int, detected: int) -> Mapping[int, float]:
        done = terminated or succeeded or (linked and remaining == 0) or (detected and attack.detection_ends_attack)
        return {int(bool(done)): 1.0}

    def count(paid: int, detected: int) -> Mapping[int, float]:
        return {paid + 1 if detected and most is not None and paid < most else paid: 1.0}

    def succeed(group_size: int, remaining: int) -> Mapping[int, float]:
        outside = (1.0 - attack.prior) / attack.prior * group_size
        hit = 1.0 / (outside + remaining)  # Eq. 3
        return {1: hit, 0: 1.0 - hit}

    def detect(group_size: int, remaining: int) -> Mapping[int, float]:
        caught = float(detection[group_size - remaining])  # Eq. 4
        return {1: caught, 0: 1.0 - caught}

    def levied(paid: int) -> bool:
        return most is None or paid < most

    terminates = Factor("X_t", ("X_t", "X_s", "X_l", "X_r", "X_d"), stop)
    counted = Factor("X_p", ("X_p", "X_d" if later else "X_d'"), count)
    running = ("X_t", "X_s")
    ends_when_caught = attack.detection_ends_attack

    def can_exploit(terminated: int, succeeded: int, linked: int, remaining: int, detected: int) -> float:
        return linked and remaining > 0 and not (terminated or succeeded or (detected and ends_when_caught))

    def expected_penalty(paid: int, group_size: int, remaining: int) -> float:
        if later or not levied(paid):
            return 0.0
        return -attack.penalty * float(detection[group_size - remaining])

    terminate = Action("terminate", Term((), lambda: 1.0), (), (Factor("X_t", (), lambda: {1: 1.0}),))
    access = Action(
        "access",
        Term((*running, "X_a"), lambda t, s, accessed: not (t or s or accessed)),
        (Term((), lambda: -attack.access_cost),),
        (
            Factor("X_a", (), lambda: {1: 1.0}),
            Factor("X_g", (), lambda: belief),
            Factor("X_r", ("X_g'",), lambda group_size: {group_size: 1.0}),
            terminates,
        ),
    )
    link = Action(
        "link",
        Term((*running, "X_a", "X_l"), lambda t, s, accessed, linked: accessed and not (t or s or linked)),
        (Term((), lambda: -attack.link_cost),),
        (Factor("X_l", (), lambda: {1: 1.0}), terminates),
    )
    exploit = Action(
        "exploit",
        Term(("X_t", "X_s", "X_l", "X_r", "X_d"), can_exploit),
        (Term((), lambda: -attack.exploit_cost), Term(("X_p", "X_g", "X_r"), expected_penalty)),
        (
            Factor("X_s", ("X_g", "X_r"), succeed),
            Factor("X_d", ("X_g", "X_r"), detect),
            counted,
            Factor("X_r", ("X_r",), lambda remaining: {remaining - 1: 1.0}),
            terminates,
        ),
    )
    gained = Term(("X_s", "X_t"), lambda succeeded, terminated: attack.gain if succeeded and not terminated else 0.0)
    fined = Term(
        ("X_d", "X_p", "X_t"),
        lambda detected, paid, terminated: (
            -attack.penalty if later and detected and levied(paid) and not terminated else 0.0
        ),
    )
    return FactoredMdp(
        VARIABLES,
        (terminate, access, link, exploit),
        (gained, fined),
        Term(("X_t",), lambda terminated: terminated),
        attack.discount,
    )


def value_at_outset(attack: SequentialAttack, belief: Mapping[int, float]) -> float:
    """Return V(x_0) from one linear program over all reachable states."""
    return float(solve_linear_program(expand(attack_process(attack, belief), [OUTSET]))[0])


def value_of_linked_group(attack: SequentialAttack, group_size: int) -> float:
    """Return V(x_start) of a group size."""
    process = attack_process(attack, {group_size: 1.0})
    return float(solve_linear_program(expand(process, [linked_state(group_size)]))[0])
