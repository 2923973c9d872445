"""What README.md shows and where it is shown.

    python docs/_tools/readme.py            write python/README.md, whose links also work on a package index
    python docs/_tools/readme.py --run      first run what the README shows and put in what it prints

A package index shows the README without the repository around it, so that every path becomes an address.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
INDEX = ROOT / "python" / "README.md"
PYTHON = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
# A stated number of repeats: what is shown must not depend on how fast the machine is.
COMMAND = re.compile(r"    mainstay (compare --repeats \d+)\n\n```text\n(.*?)```", re.DOTALL)


def printed(*args):
    """What a program prints."""
    done = subprocess.run([sys.executable, *args], check=True, capture_output=True, text=True)
    return done.stdout


def for_index(readme):
    """The README with absolute links."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    source = re.search(r'^Source = "(.*)"', project, re.MULTILINE)[1]
    raw = source.replace("//github.com/", "//raw.githubusercontent.com/") + "/main/"
    return re.sub(
        r"(!?)(\[[^\]]*\])\((?!https?:|#)([^)]+)\)",
        lambda m: f"{m[1]}{m[2]}({raw if m[1] else source + '/blob/main/'}{m[3]})",
        readme,
    )


def replaced(text, place, output):
    """The text with the output of what it shows."""
    found = place.search(text)
    return text[: found.start(2)] + output + text[found.end(2) :]


def run(text):
    """The README with what its program and its first command print."""
    text = replaced(text, PYTHON, printed("-c", PYTHON.search(text)[1]))
    command = COMMAND.search(text)[1].split()
    return replaced(text, COMMAND, cut(printed("-m", "mainstay", *command)))


def cut(output):
    """The answer of a comparison and its first reasons."""
    said = output.split("\n\nAccuracy in %", 1)[0]
    reasons = said.split("\n- ")
    return "\n".join([reasons[0], *(f"- {reason}" for reason in reasons[1:4]), "- ...", ""])


if __name__ == "__main__":
    readme = README.read_text(encoding="utf-8")
    if "--run" in sys.argv:
        readme = run(readme)
        README.write_text(readme, encoding="utf-8")
    INDEX.write_text(for_index(readme), encoding="utf-8")
