"""BENCHMARKS.md as a page: each table behind a picture of its ratios, and how times grow in front."""

import re
from collections import defaultdict

import matplotlib as mpl
import matplotlib.ticker

mpl.use("agg")
from matplotlib import pyplot as plt

FASTER, SLOWER = "#2a78b5", "#d1702c"
GROWTH = re.compile(r"^(.*?) against (n|p|rows|features) (\(.*?\)): (.*?); slope ([0-9.]+[0-9])")
AXES = {"n": 0, "rows": 0, "p": 1, "features": 1}


def benchmarks(source, folder):
    """The page; its pictures are written into ``folder``."""
    mpl.rcParams.update({"svg.hashsalt": "mainstay", "svg.fonttype": "path", "font.size": 8})
    head, *sections = re.split(r"(?m)^(?=## )", source.read_text(encoding="utf-8"))
    parts = [
        head.rstrip()
        + " *Bar*: what was promised for the ratio or the time before it was measured."
    ]
    lines = [line for section in sections for line in growth(section)]
    if lines:
        draw_growth(lines, folder / "benchmarks-growth.svg")
        parts.append(
            "![Seconds of a fit against the number of rows and of columns](benchmarks-growth.svg)\n\n"
            "*How the time of a fit grows with rows and with columns. The last number of a name is the slope of the "
            "logarithms: with 1 twice the rows take twice the time.*"
        )
    for number, section in enumerate(sections):
        title, body = section.split("\n", 1)
        parts.append(title)
        cases = ratios(body)
        if cases:
            name = f"benchmarks-{number}.svg"
            draw_ratios(cases, folder / name)
            parts.append(
                f"![Their time divided by ours, one bar per peer]({name})\n\n"
                "*Their time divided by ours, from the table below; blue: we are faster.*"
            )
        parts.append(body.strip().replace("0.333333", "1/3").replace("1.66667", "5/3"))
    return "\n\n".join(parts) + "\n"


def ratios(section):
    """Case: [(peer, their time / ours)] of every case with a peer."""
    found, case = defaultdict(list), ""
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and line.startswith("|"):
            case = cells[0] or case
            if re.fullmatch(r"[0-9.]+", cells[4]) and not cells[1].startswith("mainstay"):
                found[case].append((cells[1], float(cells[4])))
    return found


def growth(section):
    """(axis, label, sizes, seconds) of every line that tells how time grows."""
    title = re.sub(r"[#`]|\(.*\)", "", section.split("\n", 1)[0]).strip()
    for line in section.splitlines():
        found = GROWTH.match(line)
        if found:
            pairs = re.findall(r"([0-9,]+): ([0-9.e-]+) s", found[4])
            sizes = [int(size.replace(",", "")) for size, _ in pairs]
            seconds = [float(time) for _, time in pairs]
            label = title if found[1] == "Time" else f"{title}, {found[1]}"
            yield AXES[found[2]], f"{label} {found[3]}: {found[5]}", sizes, seconds


def draw_growth(lines, path):
    """Rows on the left, columns on the right, both in logarithms; slopes behind the names."""
    figure, axes = plt.subplots(1, 2, figsize=(8.5, 5.6), layout="constrained", sharey=True)
    for place, label, sizes, seconds in lines:
        marker = "os^vD*PXh"[len(axes[place].lines) % 9]
        axes[place].loglog(sizes, seconds, marker=marker, ms=4, lw=1, label=label)
    for ax, name in zip(axes, ("rows (n)", "columns (p)"), strict=True):
        ax.set_xlabel(name)
        ax.spines[["top", "right"]].set_visible(False)
        if ax.lines:
            ax.legend(frameon=False, fontsize=6.5, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    axes[0].set_ylabel("seconds of a fit")
    figure.savefig(path, metadata={"Date": None}, facecolor="white")
    plt.close(figure)


def draw_ratios(cases, path):
    """One bar per peer in logarithms, under the name of its case."""
    rows = [row for case, peers in cases.items() for row in [(case, None), *peers]]
    # Inches of a line, and of the axis below.
    figure, ax = plt.subplots(figsize=(8.5, 0.19 * len(rows) + 0.7), layout="constrained")
    labels = []
    for place, (name, ratio) in enumerate(rows):
        labels.append(name)
        if ratio is not None:
            colour = FASTER if ratio >= 1 else SLOWER
            ax.barh(place, ratio - 1, left=1, color=colour, height=0.7)
            side = {"ha": "left"} if ratio >= 1 else {"ha": "right"}
            beside = {"xytext": (3 if ratio >= 1 else -3, 0), "textcoords": "offset points"}
            told = f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"
            ax.annotate(told, (ratio, place), va="center", fontsize=7, **beside, **side)
    ax.set_yticks(range(len(rows)), labels)
    for label, (_, ratio) in zip(ax.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if ratio is None else "normal")
    every = [ratio for peers in cases.values() for _, ratio in peers]
    # Room for the figures beside the longest bars.
    ax.set(xscale="log", xlim=(min(0.5, *every, 1) / 1.6, max(2, *every) * 1.8))
    ax.set(ylim=(len(rows) - 0.5, -0.5), xlabel="their time / ours")
    steps = (1, 2, 5) if max(every) < 20 else (1,)
    ax.xaxis.set_major_locator(mpl.ticker.LogLocator(subs=steps))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    ax.tick_params(axis="y", length=0)
    ax.axvline(1, color="0.3", lw=1)
    ax.spines[["top", "right", "left"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None}, facecolor="white")
    plt.close(figure)
