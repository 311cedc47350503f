"""Define a policy without payoff parameters: the most useful k-anonymous form."""

import numpy as np
import pandas as pd

import reidsim


class KMap:
    name = "3-map"

    def choose(self, game):
        forms, kept = np.full(game.n_records, -1), np.full(game.n_records, -1.0)
        for form in range(game.space.size):
            utility = game.space.utility(form)
            better = (game.linker.link(form).group_sizes >= 3) & (utility > kept)
            forms[better], kept[better] = form, utility[better]
        return forms


patients = pd.DataFrame({"age": [20, 21, 21, 30, 31, 31, 45], "sex": list("FFMMFFM")})
economics = {"benefit": 100, "loss": 300, "gain": 60, "cost": 12}
rules = {"age": reidsim.intervals(5, 15), "sex": "suppress"}
game = reidsim.Scenario.from_frames(patients, hierarchies=rules, economics=economics, policies=["basic", KMap()])
print(game.run().summary["publisher_payoff"], game.cross_play().matrix("risk"), game.stress(loss=(100, 500)))
