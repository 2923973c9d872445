"""The map on the page "Which method for my problem": a picture one can click."""

from html import escape

# What may go wrong, what to try first, its page in the user guide, its sign.
ROUTES = [
    (
        "I do not know what threatens my data",
        "compare: let the workbench ask",
        "workbench.html",
        "ask",
    ),
    ("I have tens of rows, not hundreds", "RolinClassifier", "guide/few-samples.html", "few"),
    (
        "Some labels may be wrong",
        "audit_labels; RobustLogisticRegression",
        "guide/wrong-labels.html",
        "labels",
    ),
    (
        "A few rows lie where they should not",
        "DropFarRows, ConicSVCCV",
        "guide/outliers.html",
        "far",
    ),
    (
        "Features go missing when I predict",
        "GaussianImputer; MissingFeatureSVC",
        "guide/missing-features.html",
        "missing",
    ),
    (
        "My measurements carry a known error",
        "GaussianImputer; EllipsoidSVC",
        "guide/measurement-error.html",
        "errors",
    ),
    (
        "Hard cases must not be left behind",
        "StableLogisticRegression",
        "guide/unlucky-subsets.html",
        "hard",
    ),
    (
        "Several of these, known in size",
        "RobustLogisticRegression",
        "guide/several-threats.html",
        "several",
    ),
    ("How good is my model really?", "validate", "guide/validation.html", "judge"),
    ("None of these", "PenalizedClassifier: the baseline", "guide/baselines.html", "plain"),
]
# Little drawings of 36 by 28 units: dots of two classes (`a`, `b`), lines and shapes.
SIGNS = {
    "ask": '<text class="sign" x="12" y="22">?</text>',
    "few": "a 6,20 a 14,9 b 29,15",
    "labels": "a 5,8 a 12,17 b 8,24 a 17,6 b 28,10 b 31,20 b 24,23",
    "far": "a 5,20 a 10,24 a 12,17 a 6,13 b 32,4",
    "missing": '<path class="line" d="M3 10h7v8h-7z M13 10h7v8h-7z"/><path class="line dashed" d="M23 10h7v8h-7z"/>',
    "errors": '<ellipse class="line" cx="18" cy="14" rx="15" ry="7" transform="rotate(-20 18 14)"/> a 18,14',
    "hard": '<path class="line" d="M18 2V26"/> a 3,7 a 6,20 a 14,13 b 23,7 b 28,20 b 32,9',
    "several": '<ellipse class="line" cx="12" cy="10" rx="10" ry="5"/><path class="line dashed" d="M24 15h8v8h-8z"/> a 12,10 b 8,23',
    "judge": '<path class="line" d="M4 26V16 M13 26V9 M22 26V12 M31 26V4"/>',
    "plain": '<path class="line" d="M6 26L30 2"/> a 6,6 a 12,11 b 24,19 b 31,23',
}
# Widths of the picture, of a box, and heights of a line: beside each other, and one above the other on a phone.
WIDE = {"width": 872, "box": 396, "line": 54}
NARROW = {"width": 404, "box": 396, "line": 108}
BOX = 42


def picture():
    """Both SVGs as text, to be put into a page: their links are relative to the site's root."""
    return drawn("wide", WIDE) + drawn("narrow", NARROW)


def drawn(name, size):
    """The map in one of its layouts."""
    box = f'viewBox="0 0 {size["width"]} {size["line"] * len(ROUTES) + 34}"'
    title = "What may go wrong, and what to try first. Every line is a link to its page."
    parts = [
        f'<svg class="which {name}" {box} role="img" aria-label="{title}" xmlns="http://www.w3.org/2000/svg">'
    ]
    if name == "wide":
        parts.append('<text class="head" x="12" y="20">What may go wrong</text>')
        parts.append('<text class="head" x="486" y="20">What to try first</text>')
    else:
        parts.append('<text class="head" x="12" y="20">What may go wrong, what to try first</text>')
    for place, entry in enumerate(ROUTES):
        parts.append(route(34 + place * size["line"], name, size, *entry))
    return "\n".join([*parts, "</svg>", ""])


def route(top, name, size, worry, method, page, sign):
    """One line of the map."""
    middle, box = top + BOX // 2, size["box"]
    arrow, left, below = f"M{box + 6} {middle} H{box + 66} m-9 -6 l9 6 l-9 6", box + 74, top
    if name == "narrow":
        below = top + BOX + 10
        arrow, left = f"M24 {top + BOX} V{below} m-5 -6 l5 6 l5 -6", 4
    return "\n".join(
        [
            f'<a href="{page}">',
            f'<rect class="worry" x="4" y="{top}" width="{box}" height="{BOX}" rx="8"/>',
            f'<g transform="translate(12 {top + 7})">{glyph(SIGNS[sign])}</g>',
            f'<text x="58" y="{middle + 5}">{escape(worry)}</text>',
            f'<path class="arrow" d="{arrow}"/>',
            f'<rect class="method" x="{left}" y="{below}" width="{box}" height="{BOX}" rx="8"/>',
            f'<text x="{left + 14}" y="{below + BOX // 2 + 5}">{escape(method)}</text>',
            "</a>",
        ]
    )


def glyph(sign):
    """A sign as SVG: `a 5,8` is a dot of the first class at (5, 8), everything else stands as it is."""
    drawing, dots = (sign, "") if sign.endswith("/text>") else split(sign)
    words = dots.split()
    for kind, place in zip(words[::2], words[1::2], strict=True):
        x, y = place.split(",")
        drawing += f'<circle class="dot {kind}" cx="{x}" cy="{y}" r="3"/>'
    return drawing


def split(sign):
    """Shapes and dots of a sign."""
    shapes, _, dots = sign.rpartition("/>")
    return (f"{shapes}/>", dots) if shapes else ("", sign)
