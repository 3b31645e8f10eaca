"""What MkDocs does not do by itself: pages from outside of docs/, links to sources, the forms that GitHub accepts.

A link to a file of the repository that is no page leads to a copy of the file on the site, so that a link that is
broken in the repository breaks the build.
"""

import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
#: Pages that are not in docs/: where each is on the site, and its file.
#: The gallery is no .md file, since its pictures exist only on the site.
PAGES = {
    "index.md": "README.md",
    "gallery.md": "xtask/site/gallery.page",
    "python-reference.md": "xtask/site/python-reference.md",
}
#: Made by `cargo xtask site` before MkDocs runs.
GALLERY = ROOT / "target/site/gallery"

LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#\s]+)(#[^)\s]*)?\)")
#: Names of languages as rustdoc and GitHub know them, and as Pygments does.
FENCES = [(re.compile(r"^(\s*```)rust,\S+", re.M), r"\1rust"), (re.compile(r"^(\s*```)metal\b", re.M), r"\1cpp")]
#: What docstrings put before an indented block.
COLONS = [(re.compile(r"<p>::</p>"), ""), (re.compile(r"::</p>"), ":</p>")]
HIDDEN = re.compile(r"^# .*\n|^#\n", re.M)
RUST = re.compile(r"^```rust[^\n]*\n.*?^```", re.M | re.S)
#: A list that follows a line of text, which is a list on GitHub.
TIGHT_LIST = re.compile(r"^(?![ \t]*(?:[-*]|\d+\.) |[ \t]|#|\||```|>)(.+)\n(?=- |1\. )", re.M)

log = get_plugin_logger("site")


def on_config(config):
    """Entries such as ``decisions/*`` of the navigation are the folder's pages, its README first."""
    config.nav = [_expanded(entry, Path(config.docs_dir)) for entry in config.nav]
    return config


def _expanded(entry, docs):
    if isinstance(entry, dict):
        return {title: _expanded(below, docs) for title, below in entry.items()}
    if isinstance(entry, list):
        return [_expanded(one, docs) for one in entry]
    if not entry.endswith("/*"):
        return entry
    folder = entry.removesuffix("/*")
    names = sorted(path.name for path in (docs / folder).glob("*.md"))
    names.sort(key=lambda name: name != "README.md")
    return [f"{folder}/{name}" for name in names]


def on_files(files, config):
    """Adds the pages from elsewhere, the gallery's pictures, and the sources that pages link to."""
    for uri, path in PAGES.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    files.append(File.generated(config, "site.css", abs_src_path=str(ROOT / "xtask/site/site.css")))
    for path in sorted(GALLERY.rglob("*")):
        if path.is_file():
            uri = f"gallery/{path.relative_to(GALLERY).as_posix()}"
            files.append(File.generated(config, uri, abs_src_path=str(path)))
    linked = set()
    for page in list(files.documentation_pages()):
        text = Path(page.abs_src_path).read_text(encoding="utf-8")
        targets = (_source(page.src_uri, match[2]) for match in LINK.finditer(text))
        linked.update(target for target in targets if target)
    for target in sorted(linked):
        # Sources are shown as text, whatever they are.
        files.append(File.generated(config, f"source/{target}.txt", abs_src_path=str(ROOT / target)))
    return files


def _in_repository(uri, link):
    """The path from the root of the repository that a link of a page leads to."""
    home = PurePosixPath(PAGES.get(uri, f"docs/{uri}")).parent
    return os.path.normpath(home / link)


def _source(uri, link):
    """The same, if it is a file that is no page."""
    if "://" in link or link.startswith(("mailto:", "gallery/")):
        return None
    target = _in_repository(uri, link)
    is_page = target.startswith("docs/") or target in PAGES.values()
    return target if not is_page and (ROOT / target).is_file() else None


def on_page_markdown(markdown, page, config, files):
    """Links as they are on the site, and Markdown as MkDocs reads it."""
    here = PurePosixPath(page.file.src_uri)

    def relink(match):
        link, anchor = match[2], match[3] or ""
        if "://" in link or link.startswith(("mailto:", "gallery/")):
            return match[0]
        target = _in_repository(page.file.src_uri, link)
        by_path = {path: uri for uri, path in PAGES.items()}
        if target in by_path:
            uri = by_path[target]
        elif target.startswith("docs/"):
            uri = target.removeprefix("docs/")
        elif (ROOT / target).is_file():
            uri = f"source/{target}.txt"
        else:
            log.warning(f"{here} links to {link}, and the repository has no file {target}")
            return match[0]
        return f"{match[1]}{os.path.relpath(uri, here.parent)}{anchor})"

    markdown = RUST.sub(lambda match: HIDDEN.sub("", match[0]), markdown)
    for pattern, replacement in FENCES:
        markdown = pattern.sub(replacement, markdown)
    parts = re.split(r"(^\s*```.*?^\s*```)", markdown, flags=re.M | re.S)
    parts[::2] = [TIGHT_LIST.sub(r"\1\n\n", LINK.sub(relink, part)) for part in parts[::2]]
    return "".join(parts)


def on_page_content(html, page, config, files):
    """The colons before an indented block of a docstring are no text."""
    for pattern, replacement in COLONS:
        html = pattern.sub(replacement, html)
    return html
