"""The page on what is bundled: scenarios, populations, background knowledge and social-media models."""

from __future__ import annotations

from reidsim.bundled import bundled_titles
from reidsim.reports.markdown import wrapped
from reidsim.reports.reference.keys import item

BUNDLED = "bundled.md"
_TEXT = (
    "Wherever a scenario or recipe is named, these names can stand. `reidsim show NAME` prints the file, with its "
    "sources. The [gallery](../gallery.md) shows what each scenario finds."
)


def bundled_page() -> str:
    """Return the text of the page."""
    parts = [f"# Bundled files\n\n{wrapped(_TEXT)}\n"]
    for heading, titles in bundled_titles().items():
        lines = "\n".join(item(f"`{name}`", "", "none", title) for name, title in titles.items())
        parts.append(f"## {heading[:1].upper()}{heading[1:]}\n\n{lines}\n")
    return "\n".join(parts)
