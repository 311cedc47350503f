"""Accessible output: colours, NO_COLOR, completion, errors, exit codes."""

import itertools
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from found import at_least

from reidsim.cli import app, main
from reidsim.figures import style

REPOSITORY = Path(__file__).resolve().parents[1]
_COMMANDS = typer.main.get_command(app).commands

# Machado, Oliveira and Fernandes 2009: colour vision of dichromats, on linear RGB.
_EYES = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]])
_WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colour):
    """Return the linear RGB of a colour such as ``#0072B2``."""
    part = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """Return CIE L*a*b* of linear RGB."""
    ratio = _XYZ @ np.clip(rgb, 0, 1) / _WHITE
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def apart(one, other, eye):
    """Return the CIE 1976 distance between two colours for a type of colour vision."""
    return float(np.linalg.norm(lab(np.array(_EYES[eye]) @ linear(one)) - lab(np.array(_EYES[eye]) @ linear(other))))


def contrast(one, other):
    """Return the contrast ratio of WCAG 2, from 1 to 21."""
    light, dark = sorted((float(_XYZ[1] @ linear(colour)) for colour in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


# Colours.


@pytest.mark.parametrize("eye", _EYES)
def test_policies_differ_in_colour_for_every_kind_of_colour_vision(eye):
    policies = [f"policy {number}" for number in range(7)]
    colours = [look.colour for look in style.looks(policies).values()]
    assert len(set(colours)) == 7
    for one, other in itertools.combinations(colours, 2):
        assert apart(one, other, eye) > 15, (one, other)


def schemes():
    """Yield the report's named colours in light mode, in dark mode and on paper."""
    stylesheet = (REPOSITORY / "reidsim" / "reports" / "templates" / "stylesheet.css").read_text(encoding="utf-8")
    for block in re.findall(r":root \{(.*?)\}", stylesheet, flags=re.DOTALL):
        yield dict(re.findall(r"--(\w+): (#\w{6})", block))


def test_text_of_a_report_stands_out_in_light_in_dark_and_on_paper():
    found = list(schemes())
    assert len(found) == 3
    for colours in found:
        for ground in ("page", "soft"):
            assert contrast(colours["ink"], colours[ground]) >= 7
            assert contrast(colours["quiet"], colours[ground]) >= 4.5
        assert contrast(colours["mark"], colours["page"]) >= 4.5
        assert contrast(colours["alert"], colours["page"]) >= 3
        assert contrast(colours["mark"], colours["line"]) >= 3


# Errors.


def test_errors_of_every_command_go_to_standard_error_alone(monkeypatch, capsys):
    for command in at_least(18, _COMMANDS):
        monkeypatch.setattr(sys, "argv", ["reidsim", command, "--no-such-option"])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        assert (stop.value.code, printed.out) == (2, "")
        assert "--no-such-option" in printed.err
