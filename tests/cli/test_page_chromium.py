"""The page in a real browser: headless Chromium, driven with Selenium.

In CI a missing Chromium is a failure; on a person's machine these tests are skipped.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from ldpsim.cli.audit import loss_table
from ldpsim.cli.audit import write_page as write_audit_page
from ldpsim.cli.dossier import made_of
from ldpsim.cli.report.documents import write_document
from ldpsim.cli.report.gather import gather
from ldpsim.cli.report.page import write_page
from ldpsim.cli.report.stress import write_page as write_stress_page
from ldpsim.cli.sheet import sheet_of
from ldpsim.curator.attacks.mechanism_audit import AuditRow
from ldpsim.curator.privacy.level import Level
from ldpsim.strategies import simulate
from ldpsim.strategies.attacks.stress.campaign import StressOptions, stress
from ldpsim.strategies.attacks.stress.summary import Summary
from ldpsim.strategies.setup.options import RunOptions
from tests.cli.test_documents import agreed
from tests.waiting import wait_until

POINTS = """return [...document.querySelectorAll('#chart-0 .mark-symbol [aria-roledescription="point"]')]
  .map(p => { const box = p.getBoundingClientRect(); return [p.getAttribute('aria-label'), box.x + box.width / 2]; })"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        what = "chromium and chromedriver are needed for the tests of the page (Debian: chromium chromium-driver)"
        if os.environ.get("CI", "").lower() in ("true", "1"):
            pytest.fail(what)
        pytest.skip(what)
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = chromium
    # no sandbox: CI runs as root in a container, and the page is our own
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(service=Service(driver), options=options)
    yield found
    found.quit()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Callable[..., Any]:
    """Open a page at a size and in a colour scheme, and wait until its charts are drawn."""

    def open_page(folder: Path, *, width: int = 1280, scheme: str = "light", media: str = "screen") -> Any:
        path = tmp_path / "page.html"
        write_page(path, gather([folder]))
        emulate(browser, width, scheme, media)
        for kind in ("browser", "performance"):
            browser.get_log(kind)  # what an earlier page left there
        browser.get(path.as_uri())
        wait(browser, "return document.documentElement.dataset.ready === 'yes'")
        return browser

    return open_page


def emulate(browser: Any, width: int, scheme: str, media: str = "screen") -> None:
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}],
    })  # fmt: skip
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500,
    })  # fmt: skip


def wait(browser: Any, script: str) -> None:
    wait_until(lambda: browser.execute_script(script))


def points(browser: Any) -> dict[str, float]:
    """Where the methods stand in the first chart: horizontal place by name."""
    return {label.split("\n")[0]: x for label, x in browser.execute_script(POINTS)}


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


@pytest.mark.parametrize(("width", "scheme"), [(380, "dark"), (980, "light"), (1280, "light")])
def test_every_chart_is_drawn_quietly_and_nothing_overflows(
    width: int, scheme: str, show: Callable[..., Any], comparison: Path
) -> None:
    browser = show(comparison, width=width, scheme=scheme)
    browser.execute_script("document.querySelectorAll('.part').forEach(part => part.open = true)")
    wait(browser, "return document.querySelector('#chart-1 svg') !== null")  # it is drawn where it has a width
    marks = browser.execute_script(
        "return [...document.querySelectorAll('.chart')].map(c => c.querySelectorAll('svg path, svg text').length)"
    )
    assert len(marks) == 2 and min(marks) >= 5
    for place, axis in enumerate(("epsilon (log scale)", "bytes a device, both ways (log scale)")):
        chart = browser.execute_script(f"return document.getElementById('chart-{place}').textContent")
        assert axis in chart and all(name in chart for name in ("hogs", "lpgnn", "dp-fedavg", "mlp", "raw"))
    assert browser.get_log("browser") == []
    wide = browser.execute_script(
        "const w = document.documentElement.clientWidth; return [document.documentElement.scrollWidth - w, "
        "...[...document.querySelectorAll('body *')].filter(e => !e.closest('.hidden, .skip, thead, defs'))"
        ".filter(e => { const b = e.getBoundingClientRect(); return b.width && (b.right > w + .5 || b.left < -.5); })"
        ".map(e => e.outerHTML.slice(0, 120))]"
    )
    assert wide == [0]
    paper, ink = browser.execute_script(
        "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    )
    assert (sum(map(int, numbers(paper))) > sum(map(int, numbers(ink)))) == (scheme == "light")


def numbers(colour: str) -> list[str]:
    return colour.removeprefix("rgb(").removesuffix(")").split(", ")


def choose(browser: Any, value: str) -> dict[str, float]:
    """Choose what the first chart shows, and return where the methods stand then."""
    browser.execute_script(
        "[...document.querySelectorAll('#chart-0 input')].find(each => each.value === arguments[0]).click()", value,
    )  # fmt: skip
    time.sleep(0.3)  # Vega draws in the next frame
    return points(browser)


def test_a_switch_moves_the_methods(show: Callable[..., Any], comparison: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    browser = show(comparison)
    assert set(points(browser)) == {"hogs"}  # the others are lines over the whole width: nothing bounds them
    assert set(choose(browser, "central_node")) == {"dp-fedavg"}
    claimed = choose(browser, "claimed")
    assert claimed["lpgnn"] < claimed["hogs"] and "mlp" not in claimed
    browser.execute_script("document.querySelector('#chart-0 input:checked').focus()")
    press(browser, Keys.ARROW_DOWN)
    assert browser.execute_script("return document.activeElement.value") != "claimed"
    browser.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    press(browser, Keys.TAB)
    assert browser.execute_script("return document.activeElement.matches('a, input, summary')")
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [380, 1280])
def test_a_legend_is_read_whole_in_both_colours(width: int, show: Callable[..., Any], comparison: Path) -> None:
    browser = show(comparison, width=width)
    for choice, first in (("trusted", "hogs (nobody)"), ("name", "dp-fedavg"), ("trusted", "hogs (nobody)")):
        choose(browser, choice)
        picture, *boxes = browser.execute_script(
            "const box = e => { const b = e.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom, "
            "e.textContent]; }; const all = s => [...document.querySelectorAll('#chart-0 ' + s)].map(box); "
            "return [all('svg')[0], ...all('.role-legend-label text'), ...all('.role-legend-symbol path')]"
        )
        assert len(boxes) == 10 and boxes[0][4] == first
        assert all(box[1] <= picture[1] and box[3] <= picture[3] for box in boxes)
        lines = [[left, right, top + 4, bottom - 4] for left, right, top, bottom, _ in boxes]  # without a line's space
        for one, other in combinations(lines, 2):
            assert one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]


def test_a_hostile_record_runs_nothing(show: Callable[..., Any], tmp_path: Path, write_result: Any) -> None:
    hostile = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=2>\"' ${window.pwned=3} {{x}}"
    write_result(tmp_path / "hostile", "<img src=x onerror=window.pwned=4>", {
        "method": hostile, "dataset/name": hostile, "gnn": hostile, "privacy/claimed/statement": hostile,
        "privacy/why_they_differ": [hostile], "config/settings": {hostile: hostile},
    })  # fmt: skip
    write_result(tmp_path / "hostile", "plain", {"method": "datum.label", "dataset/name": hostile})
    browser = show(tmp_path / "hostile")
    choose(browser, "claimed")
    assert browser.execute_script("return typeof window.pwned") == "undefined"
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert browser.execute_script("return document.querySelectorAll('script').length") == 4
    assert browser.get_log("browser") == []
    # and what is put in by other means does not run either
    browser.execute_script("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.pwned=5\">')")
    time.sleep(0.2)
    assert browser.execute_script("return typeof window.pwned") == "undefined"


def sweep(folder: Path, write_result: Any, *, methods: int = 3, budgets: int = 4, seeds: int = 3) -> Path:
    """Write a sweep's folder: methods that a line joins, and one whose edges are in clear."""
    lines = []
    in_clear = Level("unprotected", public=("adjacency",)).to_dict()
    for cell in range(methods * budgets * seeds):
        method, budget, seed = cell // (budgets * seeds), cell // seeds % budgets, cell % seeds
        name, test = f"m{method}-{budget}-{seed}", 0.3 + 0.1 * budget + 0.02 * method + 0.01 * seed
        last = method == methods - 1
        write_result(folder, name, {
            "method": f"m{method}", "config/epsilon": 2.0 * (budget + 1), "config/seed": seed,
            "dataset/digest": f"{seed:02}" * 32, "accuracy/test": test, "accuracy/per_repeat": [test],
            "privacy/holds/user/value": 1000.0 * (budget + 1) * (method + 1),
            **({f"privacy/holds/{level}": in_clear for level in ("user", "relationship")} if last else {}),
        })  # fmt: skip
        lines.append(f"{cell},done,m{method},{name},{seed}\n")
    (folder / "table.csv").write_text("cell,status,method,folder,population_seed\n" + "".join(lines))
    return folder


WAYS = [(390, "dark"), (1280, "light")]


@pytest.fixture(scope="module")
def axe() -> str:
    """Return the code of axe-core, which .ci/run installs; elsewhere the tests that need it are skipped."""
    path = Path(os.environ.get("LDPSIM_AXE", Path(__file__).parents[2] / ".axe/node_modules/axe-core/axe.min.js"))
    if path.is_file():
        return path.read_text(encoding="utf-8")
    what = f"{path} is missing: npm install --prefix .axe --no-save axe-core (.ci/run has the version)"
    if os.environ.get("CI", "").lower() in ("true", "1"):
        pytest.fail(what)
    pytest.skip(what)


def dossier_page(path: Path) -> None:
    folder = simulate(RunOptions(clients=120, settings={"epochs": "5"}, out=path.parent)).folder
    write_document(path, made_of(folder))


def audit_page(path: Path) -> None:
    rows = [AuditRow("multi_bit", level, 1.0, 1.0, 0.5, 0.99, 100, passed, "ratios of drawn reports, at small size")
            for level, passed in (("bit", True), ("vector", False), ("law", True))]  # fmt: skip
    write_audit_page(path, loss_table(rows, trials=100, confidence=0.99), f"ldpsim audit {'multi_bit ' * 30}")


def sheet_page(path: Path) -> None:
    policy, _ = agreed()
    write_document(path, sheet_of(replace(policy, collector="0a" * 32)))


def stress_page(path: Path) -> None:
    result = stress(StressOptions(clients=40, asks=(1, 25), adversaries=("new-run",)))
    write_stress_page(path, result, Summary.of(result.rows))


@pytest.mark.parametrize("make", [dossier_page, audit_page, sheet_page, stress_page])
def test_axe_finds_no_barrier(make: Callable[[Path], None], axe: str, browser: Any, tmp_path: Path) -> None:
    make(tmp_path / "page.html")
    for width, scheme in WAYS:
        assert_page(browser, axe, tmp_path / "page.html", width, scheme)


@pytest.mark.parametrize("what", ["comparison", "sweep"])
def test_axe_finds_no_barrier_on_a_report(
    what: str, axe: str, show: Callable[..., Any], comparison: Path, tmp_path: Path, write_result: Any
) -> None:
    folder = comparison if what == "comparison" else sweep(tmp_path / "sweep-grid", write_result)
    write_result(folder, "left-out", {"schema": 7})
    for width, scheme in WAYS:
        browser = show(folder, width=width, scheme=scheme)
        assert_no_barrier(browser, axe)
    assert what == "comparison" or len(points(browser)) == 8  # lines of two methods; the third is in clear


def assert_page(browser: Any, axe: str, path: Path, width: int, scheme: str) -> None:
    """Check that a page has no barrier, and that nothing is wider than the window."""
    emulate(browser, width, scheme)
    browser.get(path.as_uri())
    wait(browser, "return !document.querySelector('.chart') || document.documentElement.dataset.ready === 'yes'")
    assert_no_barrier(browser, axe)
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.execute_script(wide) == 0


def assert_no_barrier(browser: Any, axe: str) -> None:
    browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    browser.execute_script(axe)
    found = browser.execute_async_script(
        "axe.run(document).then(arguments[0], error => arguments[0]({violations: [{id: String(error), nodes: []}]}))"
    )
    assert [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found["violations"]] == []
    # Contrast inside a drawing is not decided by axe.
    assert {each["id"] for each in found["incomplete"]} <= {"color-contrast"}
    assert len(found["passes"]) > 15
