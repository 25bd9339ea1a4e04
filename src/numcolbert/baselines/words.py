"""Words as the lexical systems see them: numbers stay whole, plurals fall together."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_][\w'-]*|[$€£¥%]")
_STOPWORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for from had has have he her his if in into is it its no not of on or "
        "our she such that the their then there these they this to us was we were which will with you your",
    )
)


def words(text: str) -> list[str]:
    """Lower-cased, without stop words, stemmed."""
    return [stem(word) for word in _WORD.findall(text.lower()) if word not in _STOPWORDS]


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """Harman's S-stemmer: removes the plural and nothing else, so it never joins unrelated words."""
    if len(word) > 3:
        if word.endswith("ies") and not word.endswith(("eies", "aies")):
            return word[:-3] + "y"
        if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
            return word[:-1]
        if word.endswith("s") and not word.endswith(("us", "ss")):
            return word[:-1]
    return word
