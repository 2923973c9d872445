"""The documentation site, if it was built: links lead somewhere, pages need no network.

``cargo xtask docs`` builds it; ``MAINSTAY_SITE`` names another place.
"""

import html
import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import mainstay

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("MAINSTAY_SITE", ROOT / "target" / "docs" / "site"))
PAGES = [
    "index.html",
    "get-started.html",
    "which-method.html",
    "guide/wrong-labels.html",
    "guide/measurement-error.html",
    "generated/api.html",
    "generated/cli.html",
    "generated/reproductions.html",
    "gallery/index.html",
]
# Where a dollar is a dollar.
VERBATIM = ("pre", "code", "script", "style", "annotation")
pytestmark = pytest.mark.skipif(
    not (SITE / "index.html").exists(), reason="the site is not built: cargo xtask docs"
)


class Links(HTMLParser):
    """Every reference of a page, what it loads, and every anchor in it."""

    def __init__(self):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.dollars, self.verbatim = [], 0

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.verbatim += tag in VERBATIM
        self.anchors.update(found[name] for name in ("id", "name") if found.get(name))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("img", "script", "iframe") and found.get("src"):
            self.loads.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "preload", "icon"):
            self.loads.append(found["href"])

    def handle_endtag(self, tag):
        self.verbatim -= tag in VERBATIM

    def handle_data(self, data):
        if "$" in data and not self.verbatim:
            self.dollars.append(data.strip())


@pytest.fixture(scope="module")
def pages():
    found = {}
    for path in SITE.rglob("*.html"):
        if path.relative_to(SITE).parts[0] in ("_static", "rust"):
            continue  # templates of the theme; made by rustdoc
        parser = Links()
        parser.feed(path.read_text(encoding="utf-8"))
        found[path.resolve()] = parser
    return found


def test_every_page_loads_only_files_of_the_site(pages):
    for path, page in pages.items():
        for load in page.loads:
            parts = urlsplit(load)
            if parts.scheme != "data":
                assert (parts.scheme, parts.netloc) == ("", ""), f"{path} loads {load}"
                assert (path.parent / unquote(parts.path)).exists(), f"{path} loads {load}"


def test_every_link_within_the_site_leads_to_a_page_and_an_anchor(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            if "/rust/" in link and not (SITE / "rust").exists():
                continue  # a fast build leaves the Rust reference out
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists() or (
                anchor and target in pages and anchor not in pages[target].anchors
            ):
                broken.append(f"{path.relative_to(SITE.resolve())}: {link}")
    assert broken == []


def test_every_public_name_has_a_page():
    api = (SITE / "generated" / "api.html").read_text(encoding="utf-8")
    missing = [
        n
        for n in mainstay.__all__
        if n not in mainstay._MODULES and f"mainstay.{n}.html" not in api
    ]
    assert missing == []


def counts(text):
    """Sums of the columns of the verdicts over the rows of the first table of them."""
    _, *rest = text[text.index("| agrees | better |") :].split("\n")
    rows = []
    for line in rest[1:]:
        if not line.startswith("|"):
            break
        rows.append([int(cell) for cell in line.strip("| ").split("|")[-5:]])
    return [sum(column) for column in zip(*rows, strict=True)]


def test_the_page_of_reproductions_counts_what_the_papers_pages_count():
    summary = (ROOT / "docs" / "generated" / "reproductions.md").read_text(encoding="utf-8")
    papers = ["rolin", "conic", "missing", "stable", "regec"]
    tables = [counts((ROOT / "docs" / "papers" / f"{p}.md").read_text("utf-8")) for p in papers]
    assert counts(summary) == [sum(column) for column in zip(*tables, strict=True)]


def test_formulas_are_rendered_when_the_site_is_built():
    page = (SITE / "guide" / "wrong-labels.html").read_text(encoding="utf-8")
    assert page.count('class="katex"') > 5
    assert "katex-error" not in page
    assert not re.search(r"<script[^>]*katex", page)


def test_no_formula_is_left_as_dollars(pages):
    assert {str(path): page.dollars for path, page in pages.items() if page.dollars} == {}


@pytest.fixture(scope="module")
def browser():
    """Chromium without a network: every name resolves to nothing."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is optional")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
    flags += ["--disable-background-networking", "--disable-component-update"]
    flags += ["--host-resolver-rules=MAP * ~NOTFOUND", "--allow-file-access-from-files"]
    for flag in flags:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    window = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield window
    window.quit()


def open_page(browser, page):
    """Open a page and return what failed to load and what the console said."""
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get(f"{SITE.resolve().as_uri()}/{page}")
    failed = [
        e["message"] for e in browser.get_log("performance") if "loadingFailed" in e["message"]
    ]
    said = [e for e in browser.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]
    return failed, said


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [1400, 390])
def test_a_page_opens_without_a_network_and_without_a_complaint(browser, page, width):
    browser.set_window_size(width, 900)
    failed, said = open_page(browser, page)
    assert failed == []
    assert said == []
    wide = browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 1, f"the page is {wide} pixels wider than the window"


def test_the_search_finds_kappa(browser):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.set_window_size(1400, 900)
    failed, _ = open_page(browser, "search.html?q=kappa")
    assert failed == []
    results = WebDriverWait(browser, 20).until(
        lambda window: window.find_elements(By.CSS_SELECTOR, "#search-results li a")
    )
    assert any("conic" in result.get_attribute("href").lower() for result in results)


def test_the_map_of_methods_can_be_clicked(browser):
    from selenium.webdriver.common.by import By

    open_page(browser, "which-method.html")
    routes = browser.find_elements(By.CSS_SELECTOR, "svg.which a")
    targets = [route.get_attribute("href") for route in routes]
    assert len(targets) >= 8
    links = re.findall(r'href="([^"]+)"', (ROOT / "docs" / "generated" / "which.svg").read_text())
    assert all((SITE / link).exists() for link in links)


RUST = SITE / "rust"
needs_rust = pytest.mark.skipif(
    not (RUST / "mainstay" / "index.html").exists(), reason="the site has no Rust reference"
)


@pytest.fixture(scope="module")
def rust_pages():
    """The pages of the Rust reference as rustdoc wrote them; listings of sources are left out."""
    paths = [p for p in RUST.glob("mainstay*/**/*.html") if "src" not in p.relative_to(RUST).parts]
    return {str(p.relative_to(RUST)): p.read_text(encoding="utf-8") for p in paths}


def formulas(page):
    """The formulas of a Rust page, as CONTRIBUTING.md has them, and its text without them."""
    blocks = r'<pre class="language-math"><code>(.*?)</code></pre>'
    found = [(html.unescape(tex), True) for tex in re.findall(blocks, page, re.DOTALL)]
    inline = re.findall(r"<code>\$([^$]*)\$</code>", page)
    found += [(html.unescape(tex), False) for tex in inline]
    text = re.sub(r"<(pre|script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return found, re.sub(r"<code>\$[^$]*\$</code>|<[^>]*>", "", text)


@needs_rust
def test_every_formula_of_the_rust_pages_is_code(rust_pages):
    assert len(rust_pages) > 500
    found = {name: formulas(page) for name, page in rust_pages.items()}
    assert sum(len(tex) for tex, _ in found.values()) > 300
    assert [name for name, (_, text) in found.items() if "$" in text] == []


@needs_rust
def test_every_formula_of_the_rust_pages_is_rendered(browser, rust_pages):
    """One page is opened; KaTeX, which it has loaded, then reads the formulas of all pages."""
    from selenium.webdriver.support.ui import WebDriverWait

    name = "mainstay/missing/struct.RobustHinge.html"
    failed, said = open_page(browser, f"rust/{name}")
    assert (failed, said) == ([], [])
    here, _ = formulas(rust_pages[name])
    count = "return document.querySelectorAll('{}').length"
    WebDriverWait(browser, 20).until(
        lambda window: window.execute_script(count.format(".katex")) >= len(here)
    )
    assert browser.execute_script(count.format(".katex-display")) == sum(block for _, block in here)
    assert browser.execute_script(count.format(".katex-error")) == 0
    code = "return [...document.querySelectorAll('code')].map(code => code.textContent)"
    assert [text for text in browser.execute_script(code) if "$" in text] == []
    everything = sorted({formula for page in rust_pages.values() for formula in formulas(page)[0]})
    errors = browser.execute_script(
        """return arguments[0].flatMap(([tex, displayMode]) => {
            try { katex.renderToString(tex, { displayMode, strict: "error" }); return []; }
            catch (error) { return [`${tex}: ${error.message}`]; }
        })""",
        everything,
    )
    assert errors == []
