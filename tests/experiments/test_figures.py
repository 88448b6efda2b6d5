import re
from xml.etree import ElementTree

import pytest

from hqmm.experiments import figures, registry, runner
from hqmm.experiments.figures import COLOURS, panel, spread, standalone, to_svg
from hqmm.experiments.tables import read_csv, write_csv


def example():
    with panel("A title", "time (s)", "test DA") as (figure, axes):
        figures.series(axes, "cosm", [1, 2], [0.1, 0.2], [0.01, 0.02])
        figures.reference(axes, 0.201, "true model")
        spread(axes)
    return figure


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_figure_is_text_and_ink_that_follow_the_page():
    svg = to_svg(example(), "one")
    assert {"A title", "time (s)", "test DA", "COSM", "true model"} <= {*texts(svg)}
    assert "currentColor" in svg
    assert COLOURS["cosm"] in svg
    assert "#123123" not in svg
    assert not re.search(r"#(000000|ffffff)", svg.replace("fill: none", ""))


def test_the_same_figure_gives_the_same_file_and_parts_do_not_collide_on_a_page():
    one, again, other = to_svg(example(), "one"), to_svg(example(), "one"), to_svg(example(), "other")
    assert one == again
    assert not {*re.findall(r'id="([^"]+)"', one)} & {*re.findall(r'id="([^"]+)"', other)}
    used = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', one)
    assert {a or b for a, b in used} <= {*re.findall(r'id="([^"]+)"', one)}
    ElementTree.fromstring(standalone(one))


def test_names_at_the_right_do_not_cover_each_other():
    with panel("t", "x", "y") as (figure, axes):
        axes.plot([0, 1], [0, 1])
        for value, name in ((0.5, "a"), (0.5, "b"), (0.51, "c"), (0.9, "d")):
            figures.note(axes, value, name)
        spread(axes, 11)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[i + 1 :])


@pytest.mark.parametrize("name", registry.MODULES)
def test_every_experiment_draws_labelled_figures_and_words_from_its_rows(name, tmp_path):
    experiment = registry.get(name)
    runs = experiment.runs("tiny", 0)
    [progress] = runner.perform([(experiment, runs)], tmp_path, jobs=2)
    assert not progress.failures
    if progress.unavailable:
        pytest.skip(progress.unavailable[0])
    rows = read_csv(write_csv(tmp_path / "rows.csv", runner.collect(experiment, runs, tmp_path)[0]))
    drawn = experiment.draw(rows)
    assert drawn
    for figure in drawn.values():
        for axes in figure.axes:
            assert axes.get_title(loc="left")
            assert axes.get_ylabel()
            assert axes.get_xlabel() or axes.get_xticklabels()[0].get_text()
    assert experiment.see(rows).endswith(".")
    assert experiment.table(rows)
