"""Sphinx configuration of the documentation site; `make docs` builds it.

The source folder is the repository, so that a page has one path on a forge and on the site.
"""

import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docsite import extension

project = "farlink"
author = "the farlink developers"
release = tomllib.loads((extension.ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"][
    "version"
]

extensions = ["myst_parser", "docsite.extension"]
root_doc = extension.HOME
include_patterns = extension.PAGES
exclude_patterns = [".*", "build", "crates", "demo", "dist", "python", "target", "tests", "tools"]

myst_heading_anchors = 4
smartquotes = False  # straight quotes, because pages quote scenario values such as "10 ms"

html_theme = "furo"
html_title = f"farlink {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_use_index = False
html_theme_options = {"light_css_variables": {"color-code-background": "#f5f6f8"}}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-dark"
