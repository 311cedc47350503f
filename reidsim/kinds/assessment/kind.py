"""The kind of scenario in which a given release is assessed, and nobody decides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reidsim.kinds.assessment.asked import sentences
from reidsim.kinds.assessment.assessing import assess_study, describe_risk
from reidsim.kinds.assessment.measures import MEASURES, MEASURES_OF_PEOPLE
from reidsim.kinds.assessment.memory import needed_memory
from reidsim.kinds.assessment.portions import portions
from reidsim.kinds.assessment.schema import RiskScenario
from reidsim.kinds.assessment.study import RiskStudy, build_risk_study
from reidsim.scenarios.asked import Stored
from reidsim.scenarios.kind import Kind, Use
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.portions import Portions
from reidsim.scenarios.study import Played, Progress
from reidsim.validation import read_toml
from reidsim.wording import Sentence


class AssessmentKind(Kind):
    """Nobody decides; see `Kind`."""

    name = "risk"
    words = "nobody decides: the risks of a release that is given are assessed"
    schema = RiskScenario
    measures = MEASURES
    measures_of_people = MEASURES_OF_PEOPLE
    captions = read_toml(Path(__file__).with_name("captions.toml"))
    drawn_by = "reidsim.kinds.assessment.figures.risks"
    decides = ""

    def build(self, loaded: LoadedScenario[Any]) -> RiskStudy:
        """Read the release, or the people of whom samples are drawn."""
        return build_risk_study(loaded)

    def describe(self, study: RiskStudy) -> str:
        """Say what releases and adversaries there are."""
        return describe_risk(study)

    def needed_memory(self, study: RiskStudy, use: Use = "run") -> int:
        """Return the bytes of the risks of everybody."""
        return needed_memory(study)

    def portions(self, study: RiskStudy) -> Portions:
        """Return the study of fewer people of the releases."""
        return portions(study)

    def assess(self, study: RiskStudy, report: Progress) -> Played:
        """Return the risks of everybody."""
        return assess_study(study, report)

    def asked(self, run: Stored) -> Iterator[Sentence]:
        """Yield what a run was asked."""
        return sentences(run)


ASSESSMENT = AssessmentKind()
