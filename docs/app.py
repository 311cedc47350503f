"""The model of the scenario market in a browser: ``solara run app.py``."""

from mesa.visualization import Slider, SolaraViz, make_plot_component

import reidsim

policies = ["safe-harbor", "basic", "no-attack"]
# Arguments of `reidsim.model`, fixed or with a control on the page.
parameters = {
    "scenario": "market",
    "policy": {"type": "Select", "label": "Policy", "value": "basic", "values": policies},
    "loss": Slider("Loss per re-identification", value=300, min=0, max=1200, step=100),
    "agents__participation__reward": Slider("Reward of data subjects", value=5, min=0, max=20, step=1),
    "seed": 1,
}
page = SolaraViz(
    reidsim.model("market", policy="basic", seed=1),
    components=[
        make_plot_component("publisher_payoff"),
        make_plot_component("participation"),
        make_plot_component(["attacks", "breaches"]),
    ],
    model_params=parameters,
    name="A market for data",
)
