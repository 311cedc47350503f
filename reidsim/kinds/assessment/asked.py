"""What a run that assesses risks was asked, in words."""

from __future__ import annotations

from collections.abc import Iterator

from reidsim.scenarios.asked import Stored, section
from reidsim.wording import Code, Sentence, codes, number_text


def sentences(run: Stored) -> Iterator[Sentence]:
    """Yield what is released, and what the adversary may know."""
    content = run.content
    release = section(content, "release")
    people = run.manifest.get("people")
    if "path" in release:
        yield ("How identifiable are the records of ", Code(str(release["path"])), "?")
    else:
        sizes = ", ".join(number_text(size) for size in release.get("sizes", ()))
        of = f" of {number_text(people)} people" if people else ""
        samples = number_text(release.get("samples", 1))
        yield (f"How identifiable are random samples{of}: {sizes} records, {samples} of each size?",)
    attributes = run.manifest.get("attributes")
    if isinstance(attributes, list):
        yield ("Attributes released: ", *codes(attributes), ".")
    knowledge = section(content, "knowledge")
    yield (
        "What the adversary knows: ",
        *codes([f"{name}" for name in knowledge]),
        "; each is compared with the worst case, knowledge of every attribute of everybody.",
    )
    uniqueness = section(content, "uniqueness")
    if uniqueness:
        value = f" {number_text(uniqueness['value'])}" if "value" in uniqueness else ""
        method = str(uniqueness.get("method", "pitman"))
        yield ("Whether sample uniques are population uniques: ", Code(method), f"{value}.")
