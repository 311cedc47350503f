"""Write docs/figures/desk-*.png: each step of the desk with the example file, as a computer and a telephone show it.

python tools/screenshots.py
python tools/screenshots.py -o elsewhere

Needs the extra ``web``, selenium, axe-core-python, and Debian's chromium with its driver.
"""

from __future__ import annotations

import argparse
import base64
import io
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests"))

from desk_driver import Page, Server  # noqa: E402

# Width and largest height of the pictures, in pixels: a computer, and a telephone held upright.
SIZES = ((1280, 1800), (390, 1800))
# Text that a step shows when its computations are over.
LAST = {
    "File": "First 20 different rows",
    "Columns": "People singled out: share of people",
    "Hierarchies": "Merge the chosen groups",
    "Game": "Share of records at or above each risk, by policy",
    "Share": "Download report.pdf",
}
# A palette keeps the pictures small; the page has few colours.
COLOURS = 64


# Shown in place of the temporary folder.
PLACE = "~/ada"
NAMED = """
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(arguments[0], arguments[1]);
"""


def shoot(page: Page, path: Path, width: int, height: int) -> None:
    """Write the upper part of the page as a picture with a palette."""
    page.rest()
    whole = page.driver.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": min(whole, height), "scale": 1}
    taken = page.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    picture = Image.open(io.BytesIO(base64.b64decode(taken["data"])))
    picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def sign(page: Page) -> None:
    """Keep a column with a reason, and write the files of the recommended release with a name."""
    page.rest()
    page.check("Keep diagnosis")
    page.one("input[aria-label='Why no outsider knows diagnosis']")
    page.rest()
    page.enter("input[aria-label='Why no outsider knows diagnosis']", "coded after the stay")
    page.enter("#desk-decider", "Ada Moss")
    page.click("Write the files")


def lead(folder: Path, width: int, height: int) -> None:
    """Lead the example file through the five steps, in a window of a width, with a picture of each."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as place:
        server = Server(Path(place), "desk", "--open", f"{place}/clinic")
        page = Page(server.address, f"{place}/profile", place)
        try:
            page.resize(width)
            page.click("Try an example")
            page.see(LAST["File"])
            for step, shown in LAST.items():
                page.click(step)
                if step == "Share":
                    sign(page)
                page.see(shown)
                page.driver.execute_script(NAMED, place, PLACE)
                shoot(page, folder / f"desk-{step.lower()}-{width}.png", width, height)
        finally:
            page.driver.quit()
            server.stop()


def main() -> None:
    """Write the pictures of both sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=REPOSITORY / "docs/figures", help="Folder of pictures.")
    folder = parser.parse_args().output
    for size in SIZES:
        lead(folder, *size)


if __name__ == "__main__":
    main()
