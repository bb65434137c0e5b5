"""The HTML report: one self-contained page, for a browser without a network, made from a JSON artifact.

Everything that the page needs is in it: style, script and data. A policy in its head forbids it to load anything else.
Without a script it is a readable document; the script adds stepping through time lines, filters, sorting and the switch
between light and dark. `write_report` puts the page and the artifact that it was made from into one directory.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reports.artifact import as_text
from reports.describe import count
from reports.html_view import WORDS, view
from reports.trend import trend
from simfs.errors import UsageError

PAGE, ARTIFACT, TREND = "index.html", "simfs.json", "trend.html"
"""What `write_report` writes."""


@cache
def environment() -> Environment:
    """The templates of this package; everything that they print is escaped unless it says otherwise."""
    made = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["number"] = lambda value: f"{value:,}"
    made.filters["count"] = count
    made.filters["breaks"] = breaks
    made.filters["seconds"] = lambda value: f"{value:,.2f}"
    return made


def render_html(document: dict[str, Any], title: str = "simfs report") -> str:
    """The whole page of an artifact."""
    shown = view(document)
    template = environment().get_template("report.html")
    return template.render(title=title, view=shown, words=WORDS, data=island(shown.data), status=document["status"])


def render_trend(document: dict[str, Any], title: str = "simfs nights") -> str:
    """The page that shows how the nights of an artifact went, one beside the other."""
    return environment().get_template("trend.html").render(title=title, trend=trend(document["nights"]))


def breaks(name: str) -> Markup:
    """A name that may be broken behind its underscores."""
    return Markup("_<wbr>").join(name.split("_"))


def island(value: Any) -> str:
    """A value as JSON that may stand inside a script element: no text in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def write_report(directory: str, document: dict[str, Any]) -> Path:
    """Write the page and its artifact into a directory, which is made if need be; where the artifact has nights, also
    their trend. Answers the path of the page.

    Raises UsageError where the directory cannot be written. What was there under their names is replaced whole.
    """
    place = Path(directory)
    try:
        place.mkdir(parents=True, exist_ok=True)
        _replace(place / ARTIFACT, as_text(document))
        _replace(place / PAGE, render_html(document))
        if document.get("nights"):
            _replace(place / TREND, render_trend(document))
    except OSError as error:
        raise UsageError(f"the report cannot be written: {error.filename or directory}: {error.strerror}") from None
    return place / PAGE


def _replace(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    beside.write_text(text, encoding="utf-8", errors="backslashreplace")
    os.replace(beside, path)
