"""The widgets of the web page, rendered without a browser."""

import time

import pytest

from reidsim.scenarios.scenario import Scenario

solara = pytest.importorskip("solara")
vuetify = pytest.importorskip("ipyvuetify")

SECONDS = 60


def until(found, what):
    give_up = time.monotonic() + SECONDS
    while time.monotonic() < give_up:
        if value := found():
            return value
        time.sleep(0.05)
    raise AssertionError(f"nothing after {SECONDS} s: {what}")


def html_of(widget):
    """Return all HTML below a widget."""
    own = getattr(widget, "unsafe_innerHTML", None) or getattr(widget, "value", None)
    below = [html_of(child) for child in getattr(widget, "children", ()) if not isinstance(child, str)]
    return "".join([own if isinstance(own, str) else "", *below])


@pytest.fixture
def rendered(tmp_path):
    from reidsim.web import exploration, page

    (tmp_path / "people.csv").write_text("age,sex\n30,F\n30,F\n31,F\n31,M\n32,M\n34,M\n")
    (tmp_path / "small.toml").write_text(
        'title = "Six people"\n[release]\npath = "people.csv"\n'
        '[attributes.age]\nhierarchy = { rule = "intervals", widths = [2] }\n'
        '[attributes.sex]\nhierarchy = { rule = "suppress" }\n'
        '[economics]\nbenefit = 10\nloss = 6\ncost = 2\n[adversary]\nrisk = "prosecutor"\n'
    )
    exploration.offer(Scenario.load(tmp_path / "small.toml"))
    box, context = solara.render(solara.AppLayout(children=[page.Page()]), handle_error=False)
    until(lambda: "Smallest class" in html_of(box), "the read-back")
    yield box, context
    context.close()


def test_the_page_shows_the_read_back_and_the_link_between_gain_and_loss(rendered):
    box, context = rendered

    def amount(name):
        (field,) = [each for each in context.find(vuetify.TextField).widgets if each.label.startswith(name)]
        return field

    assert "Unit: rows; each of 6 rows counts as one person" in html_of(box)
    (link,) = context.find(vuetify.Checkbox).widgets
    assert link.v_model
    gain = amount("Adversary's gain")
    assert gain.disabled
    assert gain.label.endswith("changes with the loss")
    sliders = context.find(vuetify.Slider).widgets
    sliders[1].v_model = 12.0
    until(lambda: amount("Adversary's gain").v_model == "12.0", "the gain that moves with the loss")
    link.v_model = False
    until(lambda: not amount("Adversary's gain").disabled, "a gain that can be changed")
    sliders[1].v_model = 18.0
    until(lambda: amount("Loss").v_model == "18.0", "another loss")
    assert amount("Adversary's gain").v_model == "12.0"
