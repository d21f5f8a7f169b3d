"""Detects the encoding of text that is not UTF-8. A guess is made only if the result reads like its language."""

from collections.abc import Iterable

import regex

WESTERN = "cp1252"
MIN_BYTES, MIN_SHARE = 5, 0.3  # of bytes over 127 among letters: with fewer the text is Western
WESTERN_RUN, WESTERN_SHARE = 1.6, 0.5  # so it is if these bytes mostly stand alone and are less than this share
MIN_LIKELY = 0.9  # of the characters that must be among the common ones of a script
MAX_SAMPLE = 50_000  # bytes
MIN_CONTROLS = 0.3  # of control characters among bytes that are UTF-8: these are UTF-16 nevertheless
COMMON = frozenset(b" \r\n,.;:0123456789aeiounstr")  # characters of text in any language
MULTIBYTE = {  # the lead bytes of common characters
    "euc_kr": ("euc_kr", range(0xB0, 0xC9)),
    "gb18030": ("gb2312", range(0xB0, 0xD8)),
    "big5": ("big5", range(0xA4, 0xC7)),
}
JAPANESE = ("shift_jis", "euc_jp")
SINGLE_BYTE = {
    "cp1251": "Cyrillic",
    "koi8_r": "Cyrillic",
    "cp1255": "Hebrew",
    "cp866": "Cyrillic",
    "cp1253": "Greek",
    "cp1256": "Arabic",
    "tis_620": "Thai",
}
VOWELS = {"Cyrillic": "аеёиоуыэюяіїє", "Greek": "αεηιουωάέήίόύώ"}
MIN_VOWELS = {"Cyrillic": 0.3, "Greek": 0.4}


def utf16_without_bom(data: bytes) -> str | None:
    """Return the byte order of UTF-16 without BOM, by its ASCII characters; None if the data is not UTF-16."""
    if len(data) % 2 or b"\0" not in data:
        return None
    pairs = list(zip(data[0::2], data[1::2], strict=True))
    little = sum(second == 0 and first in COMMON for first, second in pairs)
    big = sum(first == 0 and second in COMMON for first, second in pairs)
    controls = sum(byte < 32 and byte not in b"\t\n\r" for byte in data)
    if min(little, big) > max(little, big) / 10 or (controls < MIN_CONTROLS * len(data) and is_utf8(data)):
        return None
    encoding = "utf-16-be" if big > little else "utf-16-le"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return encoding if sum(sign.isprintable() or sign.isspace() for sign in text) > 0.95 * len(text) else None


def common_encoding(texts: Iterable[bytes]) -> str | None:
    """Return the encoding of all texts that are not UTF-8, since a short one alone tells little.

    None if it cannot be determined or is Western, which texts in other encodings look like if they are few.
    """
    others = b"\n".join(text for text in texts if b"\0" not in text and not is_utf8(text))
    encoding = detect_encoding(others) if others else None
    return None if encoding == WESTERN else encoding


def detect_encoding(data: bytes) -> str | None:
    """Return the encoding of lines that are not UTF-8; None if it cannot be determined."""
    data = data[:MAX_SAMPLE].rpartition(b"\n")[0] if len(data) > MAX_SAMPLE else data
    high = sum(byte > 127 for byte in data)
    letters = high + sum(byte < 128 and chr(byte).isalpha() for byte in data)
    run = high / max(1, len(regex.findall(rb"[\x80-\xff]+", data)))
    few = high < MIN_BYTES or high < MIN_SHARE * letters
    if few or (run < WESTERN_RUN and high < WESTERN_SHARE * letters):
        return WESTERN
    from charset_normalizer import from_bytes  # noqa: PLC0415  needed by few collections

    candidates = [*JAPANESE, *MULTIBYTE, *SINGLE_BYTE]  # those that are hardest to mistake first
    found = {match.encoding for match in from_bytes(data, cp_isolation=candidates)}
    return next((encoding for encoding in candidates if encoding in found and _reads_well(data, encoding)), None)


def _reads_well(data: bytes, encoding: str) -> bool:
    """Return whether nearly all of the characters that are not ASCII are common ones of the encoding's language."""
    text = regex.sub(r"[\x00-\x7f]|\p{P}", "", data.decode(encoding, "ignore"))
    if not text:
        return False
    if encoding in JAPANESE:
        kana = len(regex.findall(r"[\u3041-\u3096\u30a1-\u30fc]", text))
        others = len(regex.findall(r"[\uff61-\uff9f]", text))
        return kana >= 0.2 * len(text) and not others
    if encoding in MULTIBYTE:
        charset, leads = MULTIBYTE[encoding]
        encoded = (sign.encode(charset, "ignore") for sign in text)
        return sum(len(one) == 2 and one[0] in leads for one in encoded) >= MIN_LIKELY * len(text)
    script = SINGLE_BYTE[encoding]
    if len(regex.findall(rf"\p{{Script={script}}}", text)) < MIN_LIKELY * len(text):
        return False
    misplaced = len(regex.findall(r"(?<=\p{L})\p{Lu}", data.decode(encoding, "ignore")))
    vowels = sum(sign in VOWELS.get(script, "") for sign in text.lower())
    return misplaced <= len(text) / 20 and vowels >= MIN_VOWELS.get(script, 0) * len(text)


def is_utf8(data: bytes) -> bool:
    """Return whether the data can be decoded as UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
