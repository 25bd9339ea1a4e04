"""Take the README's picture of the page: docs/images/page.png.

numcolbert demo --serve --port 8080 &
python scripts/page_picture.py http://127.0.0.1:8080

Needs playwright (in the extra `dev`) and an installed Chromium.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "page.png"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("url", nargs="?", default="http://127.0.0.1:8080")
    parser.add_argument("--query", default="animals lighter than 5 grams")
    parser.add_argument("--out", type=Path, default=PICTURE)
    parser.add_argument("--width", type=int, default=1000)
    parser.add_argument("--height", type=int, default=860)
    parser.add_argument("--scheme", choices=["light", "dark"], default="light")
    parser.add_argument("--why", action="store_true", help="with the first hit explained")
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(
            viewport={"width": given.width, "height": given.height},
            color_scheme=given.scheme,
            reduced_motion="reduce",
        )
        page.goto(f"{given.url.rstrip('/')}/#{quote(given.query)}")
        page.wait_for_selector(".hit")
        if given.why:
            page.click(".hit .why")
            page.wait_for_selector(".explanation")
        page.evaluate("document.activeElement.blur()")
        page.screenshot(path=given.out)
        browser.close()


if __name__ == "__main__":
    main()
