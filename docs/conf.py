"""How the site is built: ``make docs``. Nothing is fetched, neither when it is built nor when it is read."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_site"), str(HERE.parent / "src")]
os.environ.setdefault("OMP_NUM_THREADS", "1")

import fairfront

project = "fairfront"
author = "the fairfront authors"
copyright = "the fairfront authors, BSD-3-Clause"
version = release = fairfront.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "program",
    "twins",
    "offline",
]
exclude_patterns = ["_build", "_site", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5", "reference/_made"]
nitpicky = False
default_role = "code"
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions, which are not kept between builds

myst_heading_anchors = 4
myst_links_external_new_tab = False
myst_enable_extensions = ["colon_fence", "deflist"]

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autodoc_mock_imports = [
    name for name in ("torch", "safetensors", "dask", "distributed") if not importlib.util.find_spec(name)
]
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_title = f"fairfront {release}"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["keyboard.js"]
html_show_sourcelink = True
html_copy_source = True
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("fairfront",),
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "download_all_examples": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
    "plot_gallery": os.environ.get("FAIRFRONT_GALLERY", "1") == "1",
    "image_scrapers": ("matplotlib",),
    "first_notebook_cell": "%matplotlib inline",
}
