"""The sequential attack as a factored MDP (Xia et al. 2015, section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reidsim.adversaries.factored_mdp import Action, FactoredMDP, State
from reidsim.adversaries.sequential.attack import SequentialAttack

TERMINATE, ACCESS, LINK, EXPLOIT = "terminate", "access", "link", "exploit"

Belief = Mapping[int, float]


def attack_process(
    attack: SequentialAttack, beliefs: Sequence[Belief] = (), *, largest: int = 0, hits: bool = True
) -> FactoredMDP:
    """Return the Markov decision process of an attack on one record.

    It has the actions of Table 2 and the variables of Table 1, in this order: ``x_t`` (the attack is over), ``x_d``
    (the last exploit was detected), ``x_p`` (number of penalties), ``x_s`` (an exploit hit), ``x_a`` (access was paid),
    ``x_l`` (the record is linked), ``x_g`` (group size) and ``x_r`` (people of the group not yet exploited). The gain,
    and with penalty timing "next-state" also the penalty, are rewards of the state after an exploit (Eq. 2). The
    adversary collects them one step later, with its next action, and X_p counts the penalty when the process leaves
    that state. With "at-action" timing, an exploit is charged its expected penalty, and X_p counts at once. X_p counts
    up to n_f; it stays 0 if the number of penalties paid does not affect later exploits.

    One variable is added: ``x_b`` is the number of the adversary's belief P(G_r) before access, and 0 afterwards. One
    process can thus plan for many records, which share all states after access.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack.
    beliefs : sequence of mapping of int to float
        The adversary's probability of each group size before access, one mapping for each initial state.
    largest : int
        Largest group size of the variables; used only without beliefs, which have their own largest size.
    hits : bool
        Whether exploits can hit. False gives the attack on a record whose person is not in the registry.

    Returns
    -------
    FactoredMDP
        Its first action is to terminate, so the adversary stops if indifferent.
    """
    largest = max((size for belief in beliefs for size in belief), default=largest)
    detection = attack.detection(largest + 1).tolist()
    limit = attack.max_penalties
    counted = min(limit, largest) if limit is not None and attack.counts_penalties else 0
    later = attack.penalty_timing == "next-state"
    ends = attack.detection_ends_attack
    outside = (1.0 - attack.prior) / attack.prior
    binary = (False, True)

    def succeed(x_g: int, x_r: int) -> dict[bool, float]:
        hit = 1.0 / (outside * x_g + x_r) if hits else 0.0  # Eq. 3
        return {True: hit, False: 1.0 - hit}

    def detect(x_g: int, x_r: int) -> dict[bool, float]:
        caught = detection[x_g - x_r]  # Eq. 4
        return {True: caught, False: 1.0 - caught}

    def terminates(x_t: bool, x_s: bool, x_l: bool, x_r: int, x_d: bool) -> bool:
        return x_t or x_s or (x_l and x_r == 0) or (x_d and ends)

    def fined(x_p: int) -> bool:
        return counted == 0 or x_p < counted

    def penalty(x_d: bool, x_p: int) -> float:
        return -attack.penalty if later and x_d and fined(x_p) else 0.0

    def expected_penalty(x_p: int, x_g: int, x_r: int) -> float:
        return 0.0 if later or not fined(x_p) else -attack.penalty * detection[x_g - x_r]

    def count_later(x_p: int, x_d: bool) -> int:
        return min(x_p + 1, counted) if x_d else x_p

    def count_at_once(x_p: int, next_x_d: bool) -> int:
        return min(x_p + 1, counted) if next_x_d else x_p

    return FactoredMDP(
        {
            "x_t": binary,
            "x_d": binary,
            "x_p": range(counted + 1),
            "x_s": binary,
            "x_a": binary,
            "x_l": binary,
            "x_g": range(largest + 1),
            "x_r": range(largest + 1),
            "x_b": range(max(len(beliefs), 1)),
        },
        {
            TERMINATE: Action({"x_t": True}),
            ACCESS: Action(
                {
                    "x_a": True,
                    "x_g": lambda x_b: beliefs[x_b],
                    "x_r": lambda next_x_g: next_x_g,
                    "x_b": 0,
                    "x_t": terminates,
                },
                reward=-attack.access_cost,
                allowed=lambda x_s, x_a: not (x_s or x_a),
            ),
            LINK: Action(
                {"x_l": True, "x_t": terminates},
                reward=-attack.link_cost,
                allowed=lambda x_s, x_a, x_l: x_a and not (x_s or x_l),
            ),
            EXPLOIT: Action(
                {
                    "x_s": succeed,
                    "x_d": detect,
                    "x_p": count_later if later else count_at_once,
                    "x_r": lambda x_r: x_r - 1,
                    "x_t": terminates,
                },
                reward=(-attack.exploit_cost, expected_penalty),
                allowed=lambda x_s, x_l, x_r, x_d: x_l and x_r > 0 and not (x_s or (x_d and ends)),
            ),
        },
        rewards=(lambda x_s: attack.gain if x_s else 0.0, penalty),
        terminal=lambda x_t: x_t,
        discount=attack.discount,
    )


def linked_state(group_size: int) -> State:
    """Return x_start of a group: the record is linked, and no exploit was made yet."""
    return (False, False, 0, False, True, True, group_size, group_size, 0)


def initial_state(belief: int) -> State:
    """Return x_0, the state before access, for the belief with this number."""
    return (False, False, 0, False, False, False, 0, 0, belief)
