"""The report in a real browser: it shows, it answers to mouse and keyboard, nothing runs in it."""

import base64
import io
import json
import shutil

import numpy as np
import pytest

from mainstay import _core

HOSTILE = "<script>document.title='owned'</script>"
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
THREATS = ["few_samples", "label_noise", "outliers"]
METHODS = ["logistic", "conic", "rolin", "stable"]


def interval(mean, half=0.01):
    return {"mean": mean, "low": mean - half, "high": mean + half}


def chosen():
    """Everything that is told of the advised model, for one class against the rest."""
    share = np.linspace(0.0, 1.0, 11)
    points = [
        {"predicted": p, "observed": p**1.2, "low": max(0, p**1.2 - 0.1), "high": min(1, p + 0.1)}
        for p in share
    ]
    weights = [
        {
            "feature": HOSTILE if j == 0 else f"feature {j}",
            "weight": 1.0 / (j + 1),
            "per_sd": 2.0 / (j + 1),
            "odds_ratio": None,
            "odds_ratio_per_sd": None,
            "steadiness": {"low": -0.1, "high": 1.2, "same_sign": 0.9},
        }
        for j in range(30)
    ]
    thresholds = [
        {
            "threshold": t,
            "called": 1 - t,
            "sensitivity": 1 - t / 2,
            "specificity": t,
            "ppv": None if t > 0.8 else 0.5 + t / 2,
            "npv": 0.9,
            "net_benefit": 0.3 - 0.3 * t,
            "net_benefit_all": 0.33 - 0.67 * t / (1 - t),
        }
        for t in (0.1, 0.3, 0.5, 0.7, 0.9)
    ]
    steady = [{"probability": p, "low": 0.8 * p, "high": min(1, p + 0.1)} for p in share]
    return {
        "method": "conic",
        "rows": 90,
        "folds": 5,
        "repeats": 2,
        "refits": 60,
        "probabilities": "calibrated",
        "metrics": [],
        "curves": [
            {
                "class": HOSTILE,
                "prevalence": 0.33,
                "roc": [[0, 0], [0.1, 0.7], [0.4, 0.9], [1, 1]],
                "auc": 0.86,
                "pr": [[0.1, 1], [0.7, 0.8], [1, 0.33]],
                "pr_auc": 0.8,
            }
        ],
        "thresholds": thresholds,
        "confusion": [[20, 5, 5], [3, 25, 2], [1, 1, 28]],
        "calibration": {"bandwidth": 0.1, "points": points},
        "unsteadiness": {"mean_absolute_error": 0.07, "flips": 0.05, "often": 0.1, "rows": steady},
        "coefficients": [
            {
                "class": HOSTILE,
                "intercept": 0.1,
                "intercept_steadiness": None,
                "at_the_mean": 0.0,
                "features": weights,
            }
        ],
        "notes": [],
    }


def comparison():
    """Three threats, four methods, three classes; the first column's name is a script."""
    features = [HOSTILE, "b" * 300, '"quoted"', *(f"feature {j}" for j in range(27))]
    levels = [0.1, 0.2, 0.4]
    curves = [
        {
            "method": method,
            "threat": threat,
            "points": [
                {
                    "level": level,
                    "accuracy": None
                    if threat == "outliers"
                    else interval(0.95 - 0.1 * k - level * (1 + k) / 4),
                    "log_loss": None,
                    "problem": "no class had two rows left" if threat == "outliers" else None,
                }
                for level in ([0.0] if threat == "clean" else levels)
            ],
        }
        for k, method in enumerate(METHODS)
        for threat in ["clean", *THREATS]
    ]
    weights = np.cos(np.arange(30)).tolist()
    return {
        "data": {
            "name": HOSTILE,
            "rows": 90,
            "features": features,
            "classes": [{"label": label, "rows": 30} for label in (HOSTILE, "b'", '"c"')],
            "warnings": [f"column {HOSTILE} is constant"],
        },
        "settings": {
            "version": "0.0.0",
            "seed": 7,
            "repeats": 5,
            "budget_seconds": None,
            "command": f"mainstay compare '{HOSTILE}'",
        },
        "methods": [
            {"name": m, "title": m.title(), "role": "robust" if k else "baseline", "tuning": "none"}
            for k, m in enumerate(METHODS)
        ],
        "threats": [
            {
                "name": threat,
                "title": threat.replace("_", " "),
                "explanation": HOSTILE,
                "unit": HOSTILE,
                "levels": levels,
            }
            for threat in THREATS
        ],
        "cells": [],
        "curves": curves,
        "advice": {
            "headline": f"Mind {HOSTILE}",
            "sentences": ["One.", "Two."],
            "worst_threat": "label_noise",
            "baseline": "logistic",
            "method": "conic",
            "gain": interval(0.1),
            "price": interval(0.01),
        },
        "coefficients": [
            {
                "class": label,
                "features": features,
                "baseline": weights,
                "robust": weights[::-1],
                "robust_method": "conic",
            }
            for label in (HOSTILE, "b'")
        ],
        "suspects": [{"row": 3, "label": HOSTILE, "score": 0.9, "predicted": "b'"}],
        "chosen": chosen(),
        "worst_rows": [{"row": 5, "label": '"c"', "weight": 1.0, "loss": 2.5}],
        "radii": [
            {
                "method": method,
                "radius_l2": np.linspace(-0.5, 3.0, 40).tolist(),
                "deletions": [1.0] * 10 + [4.0] * 20 + [None] * 10,
            }
            for method in METHODS[:2]
        ],
    }


def test_bad_json_is_refused():
    with pytest.raises(ValueError, match="not a comparison"):
        _core.Comparison.from_json("{}")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("no Chromium with chromedriver is installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    browser = webdriver.Chrome(options=options, service=service)
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    page = _core.Comparison.from_json(json.dumps(comparison())).html(tripod=True)
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


def show(browser, address, width=1280, scheme="light"):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get(address)


def screenshot(browser):
    image = pytest.importorskip("matplotlib.image", reason="matplotlib reads the screenshot")
    return image.imread(io.BytesIO(base64.b64decode(browser.get_screenshot_as_base64())))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_everything_is_in_sight_at_any_width(browser, address, width, scheme):
    show(browser, address, width, scheme)
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('svg.chart')].map(s => s.getBoundingClientRect())"
        ".map(r => [r.width, r.height, r.left, r.right])"
    )
    # Two threats (the third has no numbers), the cost, two scores, two certificates; of the advised
    # model ROC, precision-recall, calibration, net benefit, weights, steadiness.
    assert len(sizes) == 13
    for wide, high, left, right in sizes:
        assert wide > 200
        assert high > 80
        assert left >= 0
        assert right <= width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    pixels = screenshot(browser)[..., :3]
    assert pixels.std() > 0.02
    assert (pixels.mean() > 0.6) == (scheme == "light")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_a_script_in_a_name_stays_text(browser, address):
    show(browser, address)
    assert browser.title.startswith(HOSTILE)
    assert browser.execute_script("return document.scripts.length") == 0
    assert HOSTILE in browser.find_element("css selector", "h1").text
    assert "no class had two rows left" in browser.find_element("css selector", ".empty").text
    assert browser.get_log("browser") == []


def test_the_checklist_names_what_is_left_to_the_authors(browser, address):
    show(browser, address, 390)
    items = browser.find_elements("css selector", "#tripod tbody tr")
    assert len(items) > 25
    left = [item.find_elements("css selector", "td")[1].text for item in items]
    assert sum(text != "–" for text in left) > 15
    assert "Fairness" in browser.find_element("css selector", "#tripod").text


def test_nothing_is_fetched(browser, address):
    show(browser, address)
    fetched = browser.execute_script("return performance.getEntriesByType('resource').length")
    assert fetched == 0


def visible(place):
    tip = place.find_element("css selector", ".tip")
    return tip.value_of_css_property("visibility") == "visible"


def test_tooltips_open_by_mouse_and_by_keyboard(browser, address):
    actions = pytest.importorskip("selenium.webdriver", reason="selenium is optional").ActionChains
    keys = pytest.importorskip("selenium.webdriver.common.keys", reason="selenium is optional").Keys
    show(browser, address)
    for chart in browser.find_elements("css selector", "svg.chart"):
        places = chart.find_elements("css selector", ".place")
        assert len(places) >= 4
        assert not any(visible(place) for place in places)
        hit = places[1].find_element("css selector", ".hit")
        browser.execute_script(
            "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", hit
        )
        actions(browser).move_to_element(hit).perform()
        assert [visible(place) for place in places[:3]] == [False, True, False]
        browser.execute_script("arguments[0].focus({preventScroll: true})", places[0])
        # The mouse has the say while it points at the chart.
        assert [visible(place) for place in places[:3]] == [False, True, False]
        heading = chart.find_element("xpath", "./ancestor::article/h3")
        actions(browser).move_to_element(heading).perform()
        browser.execute_script("arguments[0].focus({preventScroll: true})", places[0])
        assert visible(places[0])
        actions(browser).send_keys(keys.TAB).perform()
        assert browser.execute_script("return document.activeElement") == places[1]
        assert [visible(place) for place in places[:3]] == [False, True, False]
        assert len(places[1].get_attribute("aria-label")) > 8
        browser.execute_script("document.activeElement.blur()")


def test_tables_of_numbers_unfold(browser, address):
    show(browser, address, 390)
    for summary in browser.find_elements("css selector", "article summary"):
        browser.execute_script("arguments[0].click()", summary)
    tables = browser.find_elements("css selector", "article details[open] table")
    assert len(tables) == 13
    assert all(table.is_displayed() for table in tables)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
