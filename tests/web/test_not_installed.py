"""Without the extra ``web``, `reidsim serve` says what to install."""

import subprocess
import sys

import pytest

WITHOUT = """
import sys
sys.modules |= dict.fromkeys(("solara", "starlette", "uvicorn"))
sys.argv = ["reidsim", "serve", "wan2015"]
from reidsim.cli import main
main()
"""


@pytest.mark.deep
def test_the_command_says_what_to_install():
    ended = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert "the web page is not installed" in line
    assert "pip install 'reidsim[web]'" in line
