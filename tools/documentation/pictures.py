"""Make the pictures of the documentation from the report of the demo: `make picture`.

    python -m tools.documentation.pictures demo-report/index.html docs/images

Chromium shows the page; Pillow, which pikepdf brings along, leaves so few colours that a picture stays small.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from arkaudit.features.rendering.section import find_browser

#: The language of the browser for each picture: the page goes by it.
PICTURES = {"report.png": "en", "report-fr.png": "fr"}
SIZE_PX = (1280, 1000)
COLOURS = 64
MOST_BYTES = 150_000


def picture(chromium: Path, page: Path, language: str, out: Path) -> None:
    """Write a picture of what a reader of this *language* sees first of *page*."""
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder, "shot.png")
        subprocess.run(
            [
                chromium, "--headless", "--no-sandbox", "--hide-scrollbars", f"--accept-lang={language}",
                f"--window-size={SIZE_PX[0]},{SIZE_PX[1]}", "--virtual-time-budget=8000",
                f"--user-data-dir={folder}/profile", f"--screenshot={shot}", page.absolute().as_uri(),
            ],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        with Image.open(shot) as whole:
            few = whole.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(out, optimize=True)
    size = out.stat().st_size
    print(f"{out}: {size:,} bytes")
    if size > MOST_BYTES:
        sys.exit(f"{out} has more than {MOST_BYTES:,} bytes")


def main() -> None:
    """Make all pictures of the page and into the folder that are named."""
    page, folder = map(Path, sys.argv[1:])
    chromium = find_browser()
    if chromium is None:
        sys.exit("no Chromium is installed")
    for name, language in PICTURES.items():
        picture(chromium, page, language, folder / name)


if __name__ == "__main__":
    main()
