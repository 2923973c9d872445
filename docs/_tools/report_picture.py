"""The picture on the page of the report: the top of `mainstay compare --repeats 20 --report report.html`.

    python docs/_tools/report_picture.py

Chromium draws it; the picture is made anew for a release, not whenever the site is built, since its bytes depend on the browser.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

OUT = Path(__file__).resolve().parents[1] / "report.png"
FLAGS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-sync --hide-scrollbars"


def main():
    """Compare on the embedded data and draw what a reader sees first."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        compare = [sys.executable, "-m", "mainstay", "compare", "--quiet", "--repeats", "20"]
        subprocess.run([*compare, "--report", str(report)], check=True, capture_output=True)
        draw = ["chromium", *FLAGS.split(), "--disable-background-networking"]
        draw += [f"--user-data-dir={folder}/profile", "--window-size=1200,1560"]
        draw += [f"--screenshot={OUT}", report.as_uri()]
        subprocess.run(draw, check=True, capture_output=True)


if __name__ == "__main__":
    main()
