"""The map on the page "Which method for my problem": a picture one can click."""

from html import escape

# What may go wrong, what to try first, its page in the user guide.
ROUTES = [
    ("I do not know what threatens my data", "compare: let the workbench ask", "workbench.html"),
    ("I have tens of rows, not hundreds", "RolinClassifier", "guide/few-samples.html"),
    ("Some labels may be wrong", "audit_labels, ConicSVCCV", "guide/wrong-labels.html"),
    ("A few rows lie where they should not", "ConicSVCCV", "guide/outliers.html"),
    (
        "Features go missing when I predict",
        "MissingFeatureSVC, or imputation",
        "guide/missing-features.html",
    ),
    (
        "My measurements carry a known error",
        "EllipsoidSVC, or denoising",
        "guide/measurement-error.html",
    ),
    (
        "Hard cases must not be left behind",
        "StableLogisticRegression",
        "guide/unlucky-subsets.html",
    ),
    (
        "Several of these, known in size",
        "RobustLogisticRegression",
        "guide/several-threats.html",
    ),
    ("How good is my model really?", "validate", "guide/validation.html"),
    ("None of these", "PenalizedClassifier: the baseline", "guide/baselines.html"),
]
HEIGHT, WIDTH = 52, 760


def picture():
    """The SVG as text, to be put into a page: its links are relative to the site's root."""
    size = f'viewBox="0 0 {WIDTH} {HEIGHT * len(ROUTES) + 34}"'
    title = "What may go wrong, and what to try first. Every line is a link to its page."
    parts = [
        f'<svg class="which" {size} role="img" aria-label="{title}" xmlns="http://www.w3.org/2000/svg">',
        '<text class="head" x="12" y="20">What may go wrong</text>',
        '<text class="head" x="430" y="20">What to try first</text>',
    ]
    for place, (worry, method, page) in enumerate(ROUTES):
        parts.append(route(34 + place * HEIGHT, worry, method, page))
    return "\n".join([*parts, "</svg>", ""])


def route(top, worry, method, page):
    """One line of the map."""
    middle = top + 20
    return "\n".join(
        [
            f'<a href="{page}">',
            f'<rect class="worry" x="4" y="{top}" width="340" height="40" rx="8"/>',
            f'<text x="18" y="{middle + 5}">{escape(worry)}</text>',
            f'<path class="arrow" d="M346 {middle} H412 m-9 -6 l9 6 l-9 6"/>',
            f'<rect class="method" x="416" y="{top}" width="340" height="40" rx="8"/>',
            f'<text x="430" y="{middle + 5}">{escape(method)}</text>',
            "</a>",
        ]
    )
