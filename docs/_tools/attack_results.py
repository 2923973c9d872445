"""Put what an attack printed into docs/reliability.md.

``cargo xtask attack --minutes 60 | tee attack.txt``, then ``python docs/_tools/attack_results.py attack.txt``.
"""

import datetime
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "reliability.md"
BEGIN, END = "<!-- attack -->\n", "<!-- end of attack -->"
# What the program calls an area, and what the page does.
AREAS = {
    "problems": "a, problems",
    "files": "b, files",
    "processes": "c, processes",
    "python": "d, Python",
}
# `==> mainstay-attack problems 900 1 BINARY`, `==> python python/tools/attack.py 900 1`
STARTED = re.compile(
    r"^==> \S+ (?:python/tools/attack\.py|problems|files|processes) (\d+) (\d+)", re.M
)
ENDED = re.compile(r"^(\w+): (\d+) tries, (\d+) failures$((?:\n  \S.*)*)", re.M)


def told(printed, day):
    """A sentence and a table, from the text of one whole attack."""
    runs = STARTED.findall(printed)
    ended = {found[0]: found for found in ENDED.findall(printed)}
    if len(runs) != len(AREAS) or ended.keys() != AREAS.keys():
        raise SystemExit(f"{len(runs)} areas were started and {sorted(ended)} came to an end")
    minutes = sum(int(seconds) for seconds, _ in runs) / 60
    lines = [
        f"{day.day} {day:%B %Y}, {minutes:.0f} minutes, seed {runs[0][1]}:",
        "",
        "| area | tries | failures |",
        "| --- | --- | --- |",
    ]
    for area, title in AREAS.items():
        _, tries, failures, notes = ended[area]
        notes = [note.strip() for note in notes.splitlines() if note.strip()]
        # With failures the lines beneath are their cases.
        shown = "; ".join([failures, *notes]) if failures == "0" else failures
        lines.append(f"| {title} | {int(tries):,} | {shown} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    today = datetime.datetime.now(datetime.timezone.utc).date()
    text = told(Path(sys.argv[1]).read_text(encoding="utf-8"), today)
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{text}{END}{rest.split(END)[1]}", encoding="utf-8")
