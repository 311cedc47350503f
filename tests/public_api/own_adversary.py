"""Define an adversary who pays a fine for naming the wrong person."""

import pandas as pd

import reidsim


class Fined:
    def __init__(self, gain, cost, fine=30.0):
        self.gain, self.cost, self.fine = gain, cost, fine

    def respond(self, linkage, rows=None):
        success, believed = 1 / linkage.group_sizes, 1 / linkage.believed_group_sizes
        attacks = self.worth(believed) > 0
        return reidsim.Response(attacks, success, believed, attacks * self.worth(success), attacks * 1.0)

    def worth(self, success):
        return self.gain * success - self.cost - self.fine * (1 - success)


patients = pd.DataFrame({"age": [20, 21, 21, 30, 31, 31, 45], "sex": list("FFMMFFM")})
rules = {"age": reidsim.intervals(5, 15), "sex": "suppress"}
economics = {"benefit": 100, "loss": 300, "gain": 60, "cost": 5}
scenario = reidsim.Scenario.from_frames(patients, hierarchies=rules, adversary=Fined, economics=economics)
print(scenario.run(), scenario.sweep(cost=[1, 5, 20]).summary, scenario.cross_play().matrix("regret"))
