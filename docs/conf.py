"""How Sphinx builds these pages: `make docs`. Nothing here needs a network."""

import re
import warnings
from importlib.metadata import version as installed

from sphinx.util.nodes import make_refnode

project = "hqmm"
author = "the hqmm developers"
copyright = f"2026, {author}"
version = release = installed("hqmm")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "results"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Every name between backticks in a docstring must be one that is documented.
nitpicky = True
default_role = "py:obj"
autosummary_generate = True
autodoc_typehints = "none"  # docstrings say it in words
autodoc_class_signature = "separated"
numpydoc_show_class_members = False  # the template of classes lists them
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "hqmm"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_nav_level": 1,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py",
    "image_srcset": ["2x"],
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "reset_modules": ("matplotlib",),
    "within_subsection_order": "FileNameSortKey",
    "first_notebook_cell": None,
    "min_reported_time": 1,
}

# An example that warns teaches something wrong.
warnings.filterwarnings("error", module="hqmm")


def escape_bars(app, what, name, obj, options, lines):
    """Keep |i⟩⟨j| from being read as a substitution; code stays as it is."""
    code = False
    for number, line in enumerate(lines):
        code = bool(line.strip()) and (code or line.lstrip().startswith(">>>"))
        if not code:
            parts = re.split("(``.*?``)", line)
            lines[number] = "".join(part if part[:2] == "``" else part.replace("|", "\\|") for part in parts)


def find_by_last_name(app, env, node, contnode):
    """Resolve `Sequences`, `Model.sample` or `hqmm.certify` where the name is documented at the highest level."""
    if node.get("refdomain") != "py":
        return None
    wanted = node["reftarget"].removeprefix("hqmm.")
    found = {
        entry.node_id: (name, entry)
        for name, entry in env.domains.python_domain.objects.items()
        if name.endswith(f".{wanted}") and not entry.aliased
    }
    highest = min((name.count(".") for name, _ in found.values()), default=0)
    found = [(name, entry) for name, entry in found.values() if name.count(".") == highest]
    if len(found) != 1:
        return None
    ((name, entry),) = found
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, name)


def skip_routing(app, what, name, obj, skip, options):
    """Leave out set_fit_request and its like, which scikit-learn puts on every estimator."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app):
    app.connect("autodoc-skip-member", skip_routing)
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("missing-reference", find_by_last_name)
