"""Draw the figures of every bundled scenario and of other studies, and put them on contact sheets for a last look.

    python tools/sheet.py -o sheets                     # every figure, and docs/figures and docs/gallery
    python tools/sheet.py -o sheets wan2015 switch      # only these scenarios and studies

Scenarios run at the small settings of the gallery, once: later calls load their results from `sheets/results` and draw
the figures again. The figures are in `sheets/pictures`, one file each; `sheets/sheet-01.png` and so on show them all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gallery import DOCS, played
from PIL import Image, ImageDraw, ImageFont

import reidsim
from reidsim.core.files import bundled_names
from reidsim.figures.style import own_settings, save_figure
from reidsim.reports.drawing import figures_of

# Studies whose figures no bundled scenario has by itself.
STUDIES: dict[str, Callable[[], Any]] = {
    "cross-play": lambda: reidsim.cross_play("wan2015"),
    "switch": lambda: reidsim.Scenario.load("wan2015").switch(),
    "attributes": lambda: reidsim.Scenario.load("wan2015").attributes(),
}
# Pixels: width and height of a picture at most, height of a title, and gap between pictures.
WIDTH, HEIGHT, TITLE, GAP = 900, 900, 26, 16
COLUMNS, ROWS = 3, 4


def make_sheets(folder: Path, names: Sequence[str] = ()) -> list[Path]:
    """Draw the figures of scenarios and studies, all if none is named; return the paths of the sheets."""
    pictures = [*_drawn(folder, names or [*bundled_names("scenarios"), *STUDIES])]
    if not names:
        pictures += [path for room in ("figures", "gallery") for path in sorted((DOCS / room).glob("*.png"))]
    sheets = []
    for first in range(0, len(pictures), COLUMNS * ROWS):
        sheets.append(folder / f"sheet-{len(sheets) + 1:02d}.png")
        _sheet(pictures[first : first + COLUMNS * ROWS]).save(sheets[-1])
    return sheets


def _drawn(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Draw the figures of scenarios and studies; yield the paths of the pictures."""
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for name in names:
        kept = folder / "results" / name
        if not kept.exists():
            STUDIES.get(name, partial(played, name))().save(kept)
        with own_settings():
            for figure, drawn in figures_of(reidsim.load_result(kept)):
                path = folder / "pictures" / f"{name}--{figure}.png"
                save_figure(drawn, path)
                yield path


def _sheet(paths: Sequence[Path]) -> Image.Image:
    """Return an image of pictures in rows, each with its name above it."""
    pictures = list(map(_picture, paths))
    heights = [
        TITLE + GAP + max(picture.height for picture in pictures[first : first + COLUMNS])
        for first in range(0, len(pictures), COLUMNS)
    ]
    sheet = Image.new("RGB", (GAP + COLUMNS * (WIDTH + GAP), GAP + sum(heights)), "lightgrey")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(TITLE - 6)
    for number, (path, picture) in enumerate(zip(paths, pictures, strict=True)):
        row, column = divmod(number, COLUMNS)
        x, y = GAP + column * (WIDTH + GAP), GAP + sum(heights[:row])
        pen.text((x, y), f"{path.parent.name}/{path.stem}", "black", font)
        sheet.paste(picture, (x, y + TITLE))
    return sheet


def _picture(path: Path) -> Image.Image:
    with Image.open(path) as picture:
        small = picture.convert("RGB")
    small.thumbnail((WIDTH, HEIGHT))
    return small


def main() -> None:
    """Draw the sheets and print their paths."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="scenarios and studies; all, if none is named")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the results, pictures and sheets")
    given = parser.parse_args()
    for sheet in make_sheets(given.output, given.names):
        print(sheet)


if __name__ == "__main__":
    main()
