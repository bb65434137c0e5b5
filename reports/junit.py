"""A JSON artifact as JUnit XML, as CI systems read it.

A scenario is a test suite and each disk model that it was searched on is a test case. "violated" is a failure with the
text report; "inconclusive" is an error, since nothing was shown to hold; what was only bounded or sampled passes and
says so in its output. Characters that XML cannot hold are written as escapes.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

Value = dict[str, Any]
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(document: Value) -> str:
    """The whole XML document."""
    top = Element("testsuites", name="simfs")
    for verdict in document["verdicts"]:
        _suite(top, verdict)
    for name in ("tests", "failures", "errors"):
        top.set(name, str(sum(int(suite.get(name, "0")) for suite in top)))
    top.set("time", f"{sum(float(suite.get('time', '0')) for suite in top):.3f}")
    indent(top)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(top, encoding="unicode") + "\n"


def _suite(top: Element, verdict: Value) -> None:
    models = verdict["models"] or {verdict.get("disk") or "none": verdict}
    suite = SubElement(top, "testsuite", name=_clean(verdict["scenario"]), tests=str(len(models)))
    suite.set("failures", str(sum(part["status"] == "violated" for part in models.values())))
    suite.set("errors", str(sum(part["status"] == "inconclusive" for part in models.values())))
    suite.set("time", f"{verdict['searched']['seconds']:.3f}")
    for name, part in models.items():
        case = SubElement(suite, "testcase", classname=_clean(verdict["scenario"]), name=_clean(name))
        case.set("time", f"{part['searched']['seconds']:.3f}")
        _outcome(case, verdict, part)


def _outcome(case: Element, verdict: Value, part: Value) -> None:
    if part["status"] == "violated":
        law = part.get("law") or verdict["tags"].get("law", "")
        failure = SubElement(case, "failure", type=_clean(law), message=_clean(part.get("message") or part["reason"]))
        failure.text = _clean(_text(verdict, part))
    elif part["status"] == "inconclusive":
        SubElement(case, "error", type="inconclusive", message=_clean(part["reason"]))
    elif part["status"] != "proved":
        SubElement(case, "system-out").text = _clean(f"{part['status']}: {part['reason']}")


def _text(verdict: Value, part: Value) -> str:
    """The text report on this very model; where that is not in the artifact, the line that replays it."""
    first = verdict.get("counterexample")
    for found in [*([first] if first else []), *verdict.get("others", ())]:
        if found["token"] == part.get("token"):
            return "\n" + str(found["text"])
    if part.get("token"):
        return f"{part['message']}\nsimfs replay {part['token']}"
    return str(verdict["tags"].get("text", part["reason"]))


def _clean(text: Any) -> str:
    return _FORBIDDEN.sub(lambda match: f"\\x{ord(match[0]):02x}", str(text))
