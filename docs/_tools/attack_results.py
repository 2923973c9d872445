"""Put what the last attack printed into docs/reliability.md.

``cargo xtask attack --minutes 60 | tee attack.txt``, then ``python docs/_tools/attack_results.py attack.txt``.
"""

import datetime
import json
import re
import sys
from pathlib import Path

import numbers_in_pages

RESULTS = numbers_in_pages.RESULTS / "attack.json"
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
ENDED = re.compile(r"^(\w+): (\d+) tries, (\d+) failures$((?:\n  .*)*)", re.M)


def read(printed, day):
    """Figures by key, from the text of one whole attack."""
    runs = STARTED.findall(printed)
    ended = {found[0]: found for found in ENDED.findall(printed)}
    if len(runs) != len(AREAS) or ended.keys() != AREAS.keys():
        raise SystemExit(f"{len(runs)} areas were started and {sorted(ended)} came to an end")
    seconds = sum(int(run[0]) for run in runs)
    lines = ["", "| area | tries | failures |", "|---|---:|---|"]
    for area, title in AREAS.items():
        _, tries, failures, notes = ended[area]
        notes = [note.strip() for note in notes.strip().splitlines() if note.strip()]
        # With failures the lines beneath are cases; a page is not written from those.
        told = "; ".join([failures, *notes]) if failures == "0" else failures
        lines.append(f"| {title} | {int(tries):,} | {told} |")
    return {
        "attack_date": f"{day.day} {day:%B %Y}",
        "attack_minutes": seconds / 60,
        "attack_seed": int(runs[0][1]),
        "attack_table": "\n".join([*lines, ""]),
    }


if __name__ == "__main__":
    today = datetime.datetime.now(datetime.timezone.utc).date()
    found = read(Path(sys.argv[1]).read_text(encoding="utf-8"), today)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    numbers_in_pages.fill(numbers_in_pages.measured())
