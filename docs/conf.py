"""Sphinx configuration of the documentation site: ``make docs`` writes it to docs/_build/html.

The pages are Markdown and read well without Sphinx. The site opens from disk: no page, style or script asks
the network. :mod:`docs.method_pages` writes the page of each method before the pages are read.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT))

from pygments.lexers.shell import BashLexer  # noqa: E402

from docs import docstrings, method_pages, offline  # noqa: E402
from ldpsim.curator.methods import BUILT_IN  # noqa: E402

project = "ldpsim"
author = "the authors of ldpsim"
copyright = "the authors of ldpsim. Apache-2.0"
version = release = installed("ldpsim")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
nitpicky = True
# The head of the site. The pages below a section are those that it links to.
SECTIONS = [
    "start", "concepts", "guide-research", "guide-decide", "guide-flower", "methods/README", "commands/README",
    "results/README", "api/README", "gallery/README", "reference",
]  # fmt: skip
SHORT = {"guide-research": "Researchers", "guide-decide": "Deciders", "guide-flower": "Flower"}  # in the head
LISTS = [name for name in SECTIONS if name.endswith("/README")] + ["reference"]

myst_heading_anchors = 4
myst_links_external_new_tab = False
# Formulas stand as text: a script that draws them would come from the network.
myst_enable_extensions: list[str] = ["colon_fence", "deflist"]

# Notebooks are executed once and kept below _build until they change.
nb_execution_mode = os.environ.get("LDPSIM_NOTEBOOKS", "cache")
nb_execution_cache_path = str(DOCS / "_build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "ldpsim"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # a summary would be fetched, and a page on a disk cannot fetch
html_sidebars: dict[str, list[str]] = {name: [] for name in (root_doc, *SECTIONS) if name not in LISTS}
html_theme_options: dict[str, Any] = {
    "logo": {"text": "ldpsim"},
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}


def linked(text: str) -> list[str]:
    """Return the pages of the same folder that a page links to, in its order."""
    return list(dict.fromkeys(re.findall(r"\]\(([\w-]+)\.(?:md|ipynb)[)#]", text)))


def pages_below(docname: str, found: set[str]) -> list[str]:
    """Return the pages below a section: those that it links to, then the others of its folder."""
    links = linked((DOCS / f"{docname}.md").read_text())
    folder = docname.rpartition("/")[0]
    if folder:
        here = sorted(name.partition("/")[2] for name in found if name.startswith(f"{folder}/") and name != docname)
    else:
        here = sorted(name for name in found if "/" not in name and name not in (root_doc, *SECTIONS))
    return list(dict.fromkeys([*(name for name in links if name in here), *here]))


def side_bar(app: Any, docname: str, source: list[str]) -> None:
    """Put the pages below a section into the side bar, and the table of all methods into its page."""
    entries: list[str] = []
    if docname == root_doc:
        entries = [f"{SHORT[name]} <{name}>" if name in SHORT else name for name in SECTIONS]
    elif docname in LISTS:
        entries = pages_below(docname, set(app.env.found_docs))
    if docname == "methods/README":
        source[0] = source[0].replace("<!-- methods -->", method_pages.list_of_methods())
        entries = list(BUILT_IN)
    if entries:
        source[0] += "\n```{toctree}\n:hidden:\n\n" + "\n".join(entries) + "\n```\n"


def setup(app: Any) -> None:
    """Connect the parts that are ours."""
    app.connect("source-read", side_bar)
    app.connect("env-get-outdated", lambda app, env, added, changed, removed: LISTS if added or removed else [])
    app.connect("builder-inited", method_pages.write_pages)
    app.add_lexer("sh-root", BashLexer)  # commands of deployment.md for root
    docstrings.setup(app)
    offline.setup(app)
