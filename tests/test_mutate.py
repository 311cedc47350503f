"""The mutation tester plants faults in copies only and reports detected faults."""

import subprocess
import sys
from pathlib import Path

import mutate
import pytest
from mutation_faults import faults_of
from mutation_lines import Lines
from mutation_tests import Tree

TOY = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["tests"]\n',
    "toy/__init__.py": "from toy.steps import climb\n",
    "toy/steps.py": (
        "def climb(start: int, steps: int = 2) -> int:\n"
        '    """Climb 1 step or 2."""\n'
        "    if start < 0:\n"
        "        raise ValueError('below 0')\n"
        "    return start + steps\n"
    ),
    "toy/tower.py": "from toy.steps import climb\n\n\ndef top():\n    return climb(0, 10)\n",
    "toy/alone.py": "HEIGHT = 3\n",
    "tests/shared.py": "import toy\n\n\ndef climbed(start):\n    return toy.climb(start)\n",
    "tests/test_steps.py": "from shared import climbed\n\n\ndef test_two_steps():\n    assert climbed(1) == 3\n",
    "toy/kernel.py": "import numba\n@numba.njit\ndef half(n):\n    return n // 2\ndef middle():\n    return half(10)\n",
    "tests/test_kernel.py": "from toy import kernel\n\n\ndef test_middle():\n    kernel.middle()\n",
    "tests/test_tower.py": "from toy import tower\n\n\ndef test_top():\n    assert tower.top() == 10\n",
}


@pytest.fixture
def toy(tmp_path):
    for name, text in TOY.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def _mutants(source):
    return {fault.applied(source) for fault in faults_of(source)}


@pytest.mark.parametrize(
    "source",
    [
        '"""Of 3 or more."""',
        'def f(a: Annotated[int, Field(ge=0)]) -> Literal[1]:\n    """Give 1."""\n    ...',
        "__all__ = ['a', 'b' + 'c']",
        "x: Annotated[int, Field(ge=0)]",
        "@njit(cache=True)\ndef f():\n    ...",
        "if TYPE_CHECKING:\n    x = 1",
        "assert a < b",
        "x = zip(a, b, strict=True)",
        "x = 'a' + b",
        "x = ValueError(1 + 2)",
    ],
)
def test_code_without_effect_on_results_is_left_alone(source):
    assert _mutants(source) == set()


def test_tests_are_found_by_imports_of_helpers_packages_and_importers(toy):
    tree = Tree(toy)
    assert tree.importers("toy.steps") == ["toy.tower"]
    assert [path.name for path in tree.tests_of("toy.steps")] == ["test_steps.py", "test_tower.py"]
    assert [path.name for path in tree.tests_of("toy.steps", 1)] == ["test_steps.py"]
    assert [path.name for path in tree.tests_of("toy.tower")] == ["test_tower.py"]
    assert tree.tests_of("toy.alone") == []
    # The file name assigns the test to the module, whatever the test imports.
    (toy / "tests" / "test_alone.py").write_text("import toy.tower\n")
    again = Tree(toy)
    assert [path.name for path in again.tests_of("toy.alone")] == ["test_alone.py"]


@pytest.mark.deep
def test_faults_that_no_test_notices_survive_and_the_tree_is_left_as_it_is(toy):
    before = {path: path.read_text() for path in toy.rglob("*") if path.is_file()}
    wanted = {"statement removed", "arithmetic"}
    sources = {"toy.steps": TOY["toy/steps.py"]}
    seed = next(n for n in range(1000) if {fault.kind for _, fault in mutate.drawn(sources, n, 2)} == wanted)
    outcomes = mutate.mutate(["toy.steps"], root=toy, seed=seed, most=2, workers=1)
    assert {path: path.read_text() for path in toy.rglob("*") if path.is_file()} == before
    # No test starts below 0, so the fault in line 4 survives.
    assert {(one.place, one.after, one.state) for one in outcomes} == {
        ("toy/steps.py:4", "pass", "survived"),
        ("toy/steps.py:5", "return (start - steps)", "killed"),
    }
    assert {one.by for one in outcomes} == {"", "tests/test_steps.py::test_two_steps"}
    told = mutate.summary(outcomes)
    assert told[-1] == "toy/steps.py: 1 of 2 faults caught (50%): 1 killed, 0 timed out, 1 survived"
    assert "    - raise ValueError('below 0')" in told


@pytest.mark.deep
def test_a_line_has_the_tests_that_execute_it_and_a_compiled_function_those_of_its_callers(toy):
    pytest.importorskip("coverage")
    record = ["-m", "pytest", "-n0", "-p", "mutation_lines", "--lines", "lines.db"]
    subprocess.run(
        [sys.executable, *record], cwd=toy, env={"PYTHONPATH": f"{toy}:{Path(mutate.__file__).parent}"}, check=True
    )
    lines = Lines(toy / "lines.db", Tree(toy))
    assert lines.tests_of("toy.tower", 5, most=60) == ["tests/test_tower.py::test_top"]
    assert lines.tests_of("toy.kernel", 4, most=60) == ["tests/test_kernel.py::test_middle"]
    assert len(lines.tests_of("toy.steps", 5, most=60)) == 2
    outcomes = mutate.mutate(["toy/tower.py"], root=toy, lines=toy / "lines.db", most=0, workers=1)
    assert {one.by for one in outcomes} == {"tests/test_tower.py::test_top"}
