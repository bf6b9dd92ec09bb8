"""Words that the glossary replaces by another one. The tests of pages and of help texts read this list."""

from __future__ import annotations

import re

# What is not used, and the glossary's word for it. The glossary names these words, too.
SYNONYMS = {
    r"ask(?:s|ed|ing)? nobody|nobody (?:is|was|were) asked": "no reports",
    r"collectors?": "curator",
    r"relationships?": "friendship",
    r"quer(?:y|ies)": "question",
    r"(?:an|each|more|the|honest|thousand|\d[\d,]*) asks?": "question",
    r"attain\w*": "tight",
    r"witness(?:es)?": "calibration group",
    r"laws?": "distribution",
    r"silent|silence": "dropout",
    r"rooms?|floors?|scenes?|furniture|theatre|house": "layer",
}
_FORBIDDEN = re.compile(rf"\b(?:{'|'.join(SYNONYMS)})\b", re.IGNORECASE)
_CODE = re.compile(r"^```.*?^```|`+[^`]*`+|\]\([^)]*\)|^    .*?$|<!--.*?-->", re.DOTALL | re.MULTILINE)


def synonyms(text: str) -> list[str]:
    """Return the words of a text that the glossary does not use; code, links and indented lines are left out.

    >>> synonyms("The collector, a `collector`, and the law of [a](law.md)")
    ['collector', 'law']
    """
    return _FORBIDDEN.findall(_CODE.sub(" ", text))
