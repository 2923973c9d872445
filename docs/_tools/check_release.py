"""Check version, changelog, and the wheel and sdist in a folder, then use the wheel as a reader of the README would."""

import datetime
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


def version():
    """The version of the workspace, which must be the one that everything else states."""
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    found = re.search(r'^version = "(.*)"', manifest, re.MULTILINE)[1]
    stated = re.findall(r'^mainstay\S* = \{.*version = "([^"]*)"', manifest, re.MULTILINE)
    stated.append(re.search(r"^version: (\S+)", read("CITATION.cff"), re.MULTILINE)[1].strip("\"'"))
    if set(stated) != {found}:
        raise SystemExit(f"the version is {found}, but {sorted(set(stated))} are stated elsewhere")
    return found


def read(name):
    """A file at the root of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def changelog(folder, released):
    """What the changelog will be: the unreleased section under the version, and an empty one before it."""
    text = read("CHANGELOG.md")
    today = datetime.datetime.now(datetime.timezone.utc).date()
    head, found, rest = text.partition("## [Unreleased]\n")
    if not found or not re.match(r"\s*\S", rest) or f"## [{released}]" in text:
        raise SystemExit(f"CHANGELOG.md: nothing unreleased, or {released} is there already")
    path = Path(folder).parent / "CHANGELOG-next.md"
    rest = re.sub(r"\AThe first release.*?\n\n", "", rest.lstrip("\n"))
    path.write_text(f"{head}{found}\n## [{released}] - {today}\n\n{rest}", encoding="utf-8")
    print(f"    the changelog of {released}: {path}")


def main(folder):
    """Every check in turn."""
    changelog(folder, version())
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
    code = re.search(r"```python\n(.*?)```", read("README.md"), re.DOTALL)
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        scripts = Path(place) / ("Scripts" if sys.platform == "win32" else "bin")
        run(scripts / "python", "-m", "pip", "install", "--quiet", wheel)
        run(scripts / "python", "-c", code.group(1), cwd=place)
        run(scripts / "mainstay", "fit", "--cv", "5", cwd=place)


if __name__ == "__main__":
    main(sys.argv[1])
