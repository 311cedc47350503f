"""Define the kind of scenario that assesses a release; it has no decisions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reidsim.adversaries.knowledge.groups import count_sets
from reidsim.core.wording import Code, Sentence, codes, counted, number_text
from reidsim.kinds.assessment.outputs import MEASURES, MEASURES_OF_PEOPLE, assess_study
from reidsim.kinds.assessment.schema import RiskScenario
from reidsim.kinds.assessment.study import RiskStudy, build_risk_study
from reidsim.scenarios.kind import Kind, section
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.study import Played, Progress


class AssessmentKind(Kind):
    """Kind that assesses the risk of a release, without decisions; see `Kind`."""

    name = "risk"
    words = "the re-identification risk of a given release is assessed, without a game"
    schema = RiskScenario
    measures = MEASURES
    measures_of_people = MEASURES_OF_PEOPLE
    drawn_by = "reidsim.kinds.assessment.figures"
    decides = ""

    def build(self, loaded: Scenario[Any]) -> RiskStudy:
        """Read the release, or the population of samples, and return the `RiskStudy`.

        Raises
        ------
        InputError
            If a recipe or file cannot be used, or the scenario does not fit the data.
        """
        return build_risk_study(loaded)

    def describe(self, study: RiskStudy) -> str:
        """Draw the first release and return a line on the size of the assessment.

        The line has the numbers of releases, records, people (with a person key) and attributes, and each adversary's
        number of knowledge sets (combinations of attributes that it may know of a person).
        """
        release = study.release(study.sizes[0], 0)
        adversaries = ", ".join(
            f"{name} (up to {counted(count_sets(knowledge), 'knowledge set')} per person)"
            for name, knowledge in study.knowledge(release).items()
        )
        sizes = ", ".join(f"{size:,}" for size in study.sizes)
        attributes = counted(len(release.domain.names), "attribute")
        people = "" if release.person is None else f" of {counted(release.n_people, 'person', 'people')}"
        releases = counted(study.scenario.release.samples, "release")
        return f"{releases} of {sizes} records{people}, {attributes}, {adversaries}"

    def assess(self, study: RiskStudy, report: Progress) -> Played:
        """Return the tables of risks as a `Played`; see `assess_study`."""
        return assess_study(study, report)

    def asked(self, run: Any) -> Iterator[Sentence]:
        """Yield report sentences on the release and the adversaries' knowledge of a run."""
        content, people = run.content, run.manifest.get("people")
        release = section(content, "release")
        if "path" in release:
            yield ("What is the re-identification risk of the records of ", Code(str(release["path"])), "?")
        else:
            of = f" of {number_text(people)} people" if people else ""
            sizes = f"{', '.join(map(number_text, release.get('sizes', ())))} records"
            samples = f"{number_text(release.get('samples', 1))} of each size"
            yield (f"What is the re-identification risk of random samples{of}: {sizes}, {samples}?",)
        attributes = run.manifest.get("attributes")
        if isinstance(attributes, list):
            yield ("Attributes released: ", *codes(attributes), ".")
        worst = "; each is compared with the worst case, knowledge of every attribute of each person."
        yield ("Background knowledge of the adversary: ", *codes(list(section(content, "knowledge"))), worst)
        uniqueness = section(content, "uniqueness")
        if uniqueness:
            value = f" {number_text(uniqueness['value'])}" if "value" in uniqueness else ""
            method = str(uniqueness.get("method", "pitman"))
            yield ("Method that estimates whether sample uniques are population uniques: ", Code(method), f"{value}.")


ASSESSMENT = AssessmentKind()
