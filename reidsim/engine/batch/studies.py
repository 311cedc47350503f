"""Studies kept between the runs of a worker, so that people and records are read once for points that share them."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reidsim.engine.memory import build_within_memory, needed_memory
from reidsim.scenarios.kind import Use
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import AmountPoints, PolicyOutcome, Study

_KEPT_STUDIES = 2


class Studies(threading.local):
    """The last two studies that a thread built, by what they were built from.

    Parameters
    ----------
    use : str
        What they are for; see `Kind.needed_memory`.

    Attributes
    ----------
    needed_memory : int
        Bytes that the largest of them takes, besides the program.
    """

    def __init__(self, use: Use = "run") -> None:
        self._use: Use = use
        self.needed_memory = 0
        self.kept: OrderedDict[str, Study[Any]] = OrderedDict()
        self._points: dict[str, AmountPoints | None] = {}
        self._together: tuple[object, Callable[[int], Mapping[str, PolicyOutcome]]] | None = None

    def __reduce__(self) -> tuple[type[Studies], tuple[Use]]:
        """Leave the studies behind when they are sent to another process."""
        return Studies, (self._use,)

    def get(self, loaded: LoadedScenario[ScenarioHead]) -> Study[Any]:
        """Return the study of a scenario: one that is kept, with the amounts of the scenario, or a new one.

        Raises
        ------
        InputError
            If a file, value or hierarchy cannot be used.
        """
        key = data_key(loaded)
        study = self.kept.pop(key, None)
        if study is None:
            last = next(reversed(self.kept.values()), None)
            study = build_within_memory(loaded, self._use, last)
            self.needed_memory = max(self.needed_memory, needed_memory(study, self._use) or 0)
        self.kept[key] = study
        while len(self.kept) > _KEPT_STUDIES:
            self._points.pop(self.kept.popitem(last=False)[0], None)
        return study.with_loaded(loaded)

    def points(self, loaded: LoadedScenario[ScenarioHead], study: Study[Any]) -> AmountPoints | None:
        """Return what plans the study of a scenario under any amounts; kept as long as the study."""
        key = data_key(loaded)
        if key not in self._points:
            self._points[key] = kind_of(loaded.scenario).amount_points(study)
        return self._points[key]

    def together(
        self, block: object, studies: Callable[[], Sequence[Study[Any]]]
    ) -> Callable[[int], Mapping[str, PolicyOutcome]]:
        """Return the outcomes of a block of points: those asked for last, or new ones of these studies."""
        if self._together is None or self._together[0] != block:
            found = studies()
            self._together = (block, kind_of(found[0].scenario).play_together(found))
        return self._together[1]


class GivenStudy(Studies):
    """A study with any amounts, whatever a scenario says of its data.

    Parameters
    ----------
    study : Study
    """

    def __init__(self, study: Study[Any]) -> None:
        super().__init__()
        self._given = study

    def get(self, loaded: LoadedScenario[ScenarioHead]) -> Study[Any]:
        """Return the study, with the amounts of a scenario."""
        return self._given.with_loaded(loaded)


def data_key(loaded: LoadedScenario[ScenarioHead]) -> str:
    """Return what a study is built from: scenarios of the same key differ in amounts and beliefs alone."""
    # Unsorted: attributes in another order are other columns of the lattice.
    return json.dumps(kind_of(loaded.scenario).data_content(loaded), default=str)
