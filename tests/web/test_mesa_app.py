"""The SolaraViz page of docs/app.py, rendered without a browser; needs mesa's altair, too."""

import runpy
from pathlib import Path

import pytest

solara = pytest.importorskip("solara")
vuetify = pytest.importorskip("ipyvuetify")
pytest.importorskip("altair")
APP = Path(__file__).resolve().parents[2] / "docs" / "app.py"


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore:.*ComponentsView:UserWarning")
def test_the_page_steps_to_the_last_round_and_starts_again_with_other_values():
    page = runpy.run_path(str(APP))["page"]
    model = solara.reactive(page.args[0])
    layout = solara.AppLayout(children=[page.component(model, **page.kwargs)])
    _, context = solara.render(layout, handle_error=False)

    def one(kind, **traits):
        found = (each for each in context.find(kind).widgets)
        (widget,) = [each for each in found if all(getattr(each, name) == value for name, value in traits.items())]
        return widget

    one(vuetify.Btn, children=["Step"]).click()
    assert model.value.round_number == 1
    one(vuetify.Slider, label="Render Interval (steps)").v_model = 25
    one(vuetify.Btn, children=["Step"]).click()
    assert (model.value.round_number, model.value.running) == (10, False)
    assert one(vuetify.Btn, children=["Step"]).disabled
    one(vuetify.Select, label="Policy").v_model = "no-attack"
    one(vuetify.Slider, label="Reward of data subjects").v_model = 0
    one(vuetify.Btn, children=["Reset"]).click()
    one(vuetify.Btn, children=["Step"]).click()
    assert (model.value.publisher.policy, model.value.round_number) == ("no-attack", 10)
    assert model.value.measures["participation"] == 0
    assert context.find(vuetify.Alert).widgets == []
    context.close()
