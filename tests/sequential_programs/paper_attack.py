"""The sequential attack as the decision process of Xia et al. 2015, in plain Python."""

import math
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class PaperAttack:
    """The attack as a decision process in the paper's symbols, without reidsim.

    States of the chain are (X_t, X_d, X_p, X_s, X_a, X_l, X_g, X_r). X_p counts the penalties levied before the last
    exploit (up to n_f). The penalties incurred are X_p, plus one if the last exploit was detected.
    """

    G: float
    Cd: float
    Cl: float
    Ce: float
    Cp: float
    nf: float
    h0: float
    h1: float
    prior: float
    gamma: float
    penalty_at_action: bool
    detection_ends: bool

    def p_suc(self, g, r):  # Eq. 3
        return 1 / ((1 - self.prior) / self.prior * g + r)

    def p_det(self, g, r):  # Eq. 4
        return 1 / (1 + math.exp(-(self.h0 + self.h1 * (g - r))))

    def exploit(self, w, g, r, m):
        """Return the worth of an exploit with r candidates left and m penalties incurred.

        w is the worth of the following state.
        """
        hit, caught = self.p_suc(g, r), self.p_det(g, r)
        levied = 1 if m < self.nf else 0
        penalty = caught * self.Cp * levied * (1 if self.penalty_at_action else self.gamma)
        if_caught = 0 if self.detection_ends else w(r - 1, min(m + 1, self.nf))
        return (
            -self.Ce
            - penalty
            + self.gamma * (hit * self.G + (1 - hit) * ((1 - caught) * w(r - 1, m) + caught * if_caught))
        )

    def solve(self, g):
        """Return W(r, m) of a group of g and whether to exploit.

        r is the number of candidates left, m the number of penalties incurred.
        """

        @cache
        def w(r, m):
            return 0.0 if r == 0 else max(0.0, self.exploit(w, g, r, m))

        def exploits(r, m):
            return r > 0 and self.exploit(w, g, r, m) > 0

        # With a penalty every time, the number incurred does not matter.
        count = (lambda m: 0) if self.nf == math.inf else (lambda m: m)
        return (lambda r, m=0: w(r, count(m))), (lambda r, m=0: exploits(r, count(m)))

    def margin(self, g):
        """Return the smallest distance of decisions in a group of g from indifference.

        Penalties never exceed exploits.
        """
        w, _ = self.solve(g)
        values = [abs(self.exploit(w, g, g - j, m)) for j in range(g) for m in range(int(min(self.nf, j, g)) + 1)]
        # A state worth exactly zero leaves no doubt about the decision before it.
        worth, access = w(g), self.v_access(g)
        values += [abs(self.gamma * worth - self.Cl)] if worth else []
        return min([*values, *([abs(self.gamma * access - self.Cd)] if access else [])])

    def v_start(self, g):
        return self.solve(g)[0](g) if g else 0.0

    def v_access(self, g):
        return max(0.0, -self.Cl + self.gamma * self.v_start(g)) if g else 0.0

    def hope(self, belief):
        """Return the worth of access in a belief about the group size."""
        return -self.Cd + self.gamma * sum(share * self.v_access(g) for g, share in belief.items())

    def v_outset(self, belief):
        return max(0.0, self.hope(belief))

    def play(self, g, accesses):
        """Propagate the Markov chain of Eq. 5 with a true group size of g.

        Returns P_reid, the expected number of exploits and the expected discounted payoff.
        """
        w, exploits = self.solve(g) if g else (lambda r, m=0: 0.0, lambda r, m=0: False)
        chain = {(0, 0, 0, 0, 0, 0, 0, 0): 1.0}
        p_reid = made = payoff = 0.0
        worth = 1.0
        while any(not x[0] for x in chain):
            following = {}
            for x, probability in chain.items():
                t, d, p, s, a, linked, group, r = x
                if t:
                    continue  # absorbed
                if s:
                    p_reid += probability
                    payoff += worth * probability * self.G
                if d and p < self.nf and not self.penalty_at_action:
                    payoff -= worth * probability * self.Cp
                incurred = min(p + d, self.nf)
                over = s or (linked and r == 0) or (d and self.detection_ends)
                if not a and accesses:
                    moves = [((0, 0, 0, 0, 1, 0, g, g), 1.0)]
                    payoff -= worth * probability * self.Cd
                elif a and not linked and self.gamma * w(group) > self.Cl:
                    moves = [((0, 0, 0, 0, 1, 1, group, r), 1.0)]
                    payoff -= worth * probability * self.Cl
                elif linked and not over and exploits(r, incurred):
                    made += probability
                    payoff -= worth * probability * self.Ce
                    hit, caught = self.p_suc(group, r), self.p_det(group, r)
                    if self.penalty_at_action and incurred < self.nf:
                        payoff -= worth * probability * caught * self.Cp
                    # Not counted if the penalty is levied every time, so that the chain stays small.
                    count = 0 if self.nf == math.inf else incurred
                    moves = [
                        (
                            (0, d2, count, s2, 1, 1, group, r - 1),
                            (hit if s2 else 1 - hit) * (caught if d2 else 1 - caught),
                        )
                        for s2 in (0, 1)
                        for d2 in (0, 1)
                    ]
                else:
                    moves = [((1, d, p, s, a, linked, group, r), 1.0)]
                for state, share in moves:
                    following[state] = following.get(state, 0.0) + probability * share
            chain = following
            worth *= self.gamma
        return p_reid, made, payoff


def paper_of(attack):
    return PaperAttack(
        G=attack.gain,
        Cd=attack.access_cost,
        Cl=attack.link_cost,
        Ce=attack.exploit_cost,
        Cp=attack.penalty,
        nf=math.inf if attack.max_penalties is None else attack.max_penalties,
        h0=attack.detection_intercept,
        h1=attack.detection_slope,
        prior=attack.prior,
        gamma=attack.discount,
        penalty_at_action=attack.penalty_timing == "at-action",
        detection_ends=attack.detection_ends_attack,
    )
