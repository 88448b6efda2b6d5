import json
import os
import re
import shutil
import subprocess
from html import escape, unescape
from html.parser import HTMLParser

import pytest
from tests.experiments.made_up import made_up, numbered

from hqmm.experiments import registry
from hqmm.experiments.claims import judge_all
from hqmm.experiments.reproduce import ELAPSED, publish, reproduce
from hqmm.experiments.runner import perform
from hqmm.report import page, summary

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MEASURE = """<script>
parent.document.title = JSON.stringify({
  page: document.documentElement.scrollWidth, window: innerWidth,
  wide: [...document.querySelectorAll("p, h1, h2, dd, td, figure, svg, .scroll")]
    .filter(e => !e.closest(".scroll") || e.matches(".scroll"))
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80)),
  figures: [...document.querySelectorAll("figure svg")].map(e => e.getBoundingClientRect().width),
  small: [...document.querySelectorAll("figure text")].map(e => e.getBoundingClientRect().height),
});
</script></body>"""


@pytest.fixture
def results(tmp_path):
    """The results of a made-up experiment, with one claim that does not hold, and another that was never run."""
    experiment = made_up()
    [progress] = perform([(experiment, numbered([1, 2, 4], tmp_path / "log"))], tmp_path, jobs=1)
    publish(progress, tmp_path, "tiny", 7)
    return [experiment, made_up(name="never", title="Never < run")], tmp_path


def built(results):
    experiments, folder = results
    return page(experiments, judge_all(experiments, folder), folder)


def test_the_page_holds_everything_a_reader_needs_to_judge(results):
    html = built(results)
    for part in (
        "<b>0</b> claims hold, <b>1</b> do not, <b>1</b> were not run",
        "all squares are &lt; 10",
        "Some numbers are larger.",
        "We see 6 rows.",
        "Squares are small.",
        "hqmm reproduce made-up --scale tiny --seed 7",
        "<dt>At this scale</dt><dd>number: 1, 2, 4;",
        "Never &lt; run",
        "<svg",
        "<dt>Seeds</dt><dd>7</dd>",
        "<dt>Run time</dt><dd>0 s of processor time</dd>",
        "numpy",
    ):
        assert part in html, part
    assert html.index("Claims") < html.index("Squares of numbers")


def test_the_page_needs_no_other_file_and_every_tag_is_closed(results):
    html = built(results)
    outside = re.findall(r'(?:src|href)="(?!#)([^"]+)"', html)
    assert outside == []
    assert not re.search(r"url\((?!#)", html)
    assert "@import" not in html

    open_tags = []

    class Balance(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag not in ("meta", "br"):
                open_tags.append(tag)

        def handle_endtag(self, tag):
            assert open_tags.pop() == tag

    Balance().feed(html)
    assert open_tags == []


def test_the_times_of_all_calls_that_did_runs_are_added_up(tmp_path, monkeypatch):
    (tmp_path / ELAPSED).write_text('{"seconds": 36000.0, "jobs": 2}')
    one = made_up(runs=lambda scale, seed: numbered([1, 2], tmp_path / "log"))
    monkeypatch.setattr(registry, "select", lambda names=(): [one])
    outcome = reproduce(["made-up"], "tiny", tmp_path)
    first = json.loads((tmp_path / ELAPSED).read_text())
    assert first["seconds"] >= 36000
    assert first["jobs"] == 1
    assert "<dt>Run time</dt><dd>600." in outcome.page.read_text()
    assert "min by the clock with one run at once, 0 s of processor time" in outcome.page.read_text()
    reproduce(["made-up"], "tiny", tmp_path, jobs=2)  # nothing is left to do
    assert json.loads((tmp_path / ELAPSED).read_text()) == first


def test_the_summary_names_the_figures_that_are_there_and_explains_what_does_not_hold(results):
    experiments, folder = results
    text = summary(experiments, judge_all(experiments, folder), folder)
    assert (
        "| **does not hold** | all squares are < 10 (Section 0) | at most 16 *Some numbers are larger.* |" in text
    )
    [name] = re.findall(r'<img src="([^"]+)"', text)
    assert (folder / name).exists()


def test_nothing_tells_where_it_was_computed(results):
    html = built(results)
    about = (results[1] / "made-up.json").read_text()
    for secret in (os.getcwd(), os.uname().nodename):
        assert secret not in about
        assert secret not in html


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_a_phone_and_a_desk(results, tmp_path, width):
    inside = escape(built(results).replace("</body>", MEASURE))
    # headless Chromium makes no window as narrow as a phone, but any frame
    (tmp_path / "frame.html").write_text(f'<title></title><iframe width="{width}" height="900" srcdoc="{inside}">')
    profile, page_file = f"--user-data-dir={tmp_path / 'profile'}", f"file://{tmp_path / 'frame.html'}"
    shown = subprocess.run(
        [BROWSER, *OPTIONS, profile, "--window-size=1400,1000", "--dump-dom", page_file],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    title = re.search(r"<title>(.*?)</title>", shown, re.DOTALL)
    measured = json.loads(unescape(title[1]))
    assert measured["window"] == width
    assert measured["page"] <= measured["window"]
    assert measured["wide"] == []
    assert len(measured["figures"]) == 1
    assert measured["figures"][0] > 300
    assert min(measured["small"]) > 7
