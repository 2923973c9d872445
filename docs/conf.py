"""The documentation site; ``cargo xtask docs`` builds it into ``target/docs/site`` without a network."""

import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_tools"))

import matplotlib as mpl  # noqa: E402
import pages  # noqa: E402
from sphinxcontrib import katex  # noqa: E402

import mainstay  # noqa: E402

mpl.use("agg")

project = "mainstay"
author = "The mainstay developers"
copyright = author
version = release = mainstay.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.katex",
]
exclude_patterns = [
    "figures",
    "_tools",
    "gallery/*.ipynb",
    "gallery/*.py",
    "methods/*.py",
    "**sg_execution_times.rst",
]
root_doc = "index"
nitpicky = True
# Names of the standard library and of numpydoc's prose have no page here.
nitpick_ignore_regex = [("py:.*", r"(?!mainstay).*")]
# The pages of the papers set their own anchors; python/tests/test_site.py checks every link of the built site.
suppress_warnings = ["myst.xref_missing", "myst.header", "config.cache", "toc.not_included"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4

autosummary_generate = True
templates_path = ["_templates"]
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Formulas become HTML here: a reader's browser runs no script for them.
katex_prerender = True
katex_css_path = "katex/katex.min.css"
katex_options = "throwOnError: true"

# On a busy machine the renderer's socket exists before anybody listens; the way through a port tries again.
katex.KaTeXServer.start_server_process = katex.KaTeXServer.start_network_socket
katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60.0

html_theme = "pydata_sphinx_theme"
html_title = "mainstay"
html_static_path = ["_static"]
html_css_files = ["mainstay.css"]
html_show_sourcelink = False
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "secondary_sidebar_items": ["page-toc"],
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "get-started": [], "which-method": []}

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "ExampleTitleSortKey",
    "remove_config_comments": True,
    "show_signature": False,
    "show_memory": False,
    # Programs print what they have to say; the last value of a block is mostly a legend.
    "capture_repr": (),
    "write_computation_times": False,
    "min_reported_time": 0,
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "first_notebook_cell": "%matplotlib inline",
}
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")


def skip(app, what, name, member, skipped, options):
    """Leave out what scikit-learn defines and documents: get_params, score, metadata routing."""
    home = getattr(member, "__module__", None) or ""
    return True if home.startswith("sklearn") or name.endswith("_request") else None


def quote(app, what, name, member, options, lines):
    """Names with a trailing underscore are names, not links."""
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"(?<![\\\w`.*])([a-z][a-z0-9_]*_)(?=[,)\s]|$)", r"``\1``", line)


def setup(app):
    """Write the pages that are made from the program and its results."""
    app.add_config_value("mainstay_node_modules", "", "env", str)
    app.connect("config-inited", pages.write, priority=1)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", quote, priority=900)
