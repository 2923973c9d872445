"""Check the wheel and sdist in a folder, then use the wheel in an empty environment as a reader of the README would."""

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST = 15e6  # bytes of a wheel


def run(*command, **options):
    """Run a command; a failure ends the check."""
    print("   ", *map(str, command))
    return subprocess.run([str(c) for c in command], check=True, **options)


def main(folder):
    """Every check in turn."""
    files = sorted(Path(folder).iterdir())
    wheels = [f for f in files if f.suffix == ".whl"]
    for wheel in wheels:
        size = wheel.stat().st_size
        print(f"    {wheel.name}: {size / 1e6:.1f} MB")
        if size >= MOST:
            raise SystemExit(
                f"{wheel.name} has {size / 1e6:.1f} MB; at most {MOST / 1e6:.0f} are allowed"
            )
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    run(Path(sys.executable).with_name("check-wheel-contents"), *wheels)
    run(Path(sys.executable).with_name("abi3audit"), "--strict", *wheels)
    readme(wheels[0])


def readme(wheel):
    """The README's Python and its command, with nothing but the wheel and what it asks for."""
    code = re.search(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        scripts = Path(place) / ("Scripts" if sys.platform == "win32" else "bin")
        run(scripts / "python", "-m", "pip", "install", "--quiet", wheel)
        run(scripts / "python", "-c", code.group(1), cwd=place)
        run(scripts / "mainstay", "fit", "--cv", "5", cwd=place)


if __name__ == "__main__":
    main(sys.argv[1])
