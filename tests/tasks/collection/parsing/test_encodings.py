import pytest

from tasks.collection.parsing.encodings import WESTERN, common_encoding, detect_encoding, utf16_without_bom

CAPTIONS = {
    "Собака бежит по песчаному пляжу": ("cp1251", "koi8_r", "cp866"),
    "кошка": ("cp1251",),
    "собака біжить по піщаному пляжу": ("cp1251",),
    "一个男孩在公园里踢足球": ("gbk", "gb18030"),
    "高大的树木": ("gbk",),
    "一個男孩在公園裡踢足球": ("big5",),
    "男の子が公園でサッカーをしています": ("shift_jis", "euc_jp"),
    "소년이 공원에서 축구를 하고 있다": ("euc_kr", "cp949"),
    "ένας σκύλος τρέχει στην παραλία": ("cp1253",),
    "כלב רץ על החוף": ("cp1255",),
    "كلب يركض على الشاطئ": ("cp1256",),
    "สุนัขวิ่งบนชายหาด": ("tis_620",),
    "un café à l'été près du château": ("cp1252",),
    "“Ein Hund” läuft über die Straße – schnell…": ("cp1252",),
}


@pytest.mark.parametrize("lines", [1, 20])
@pytest.mark.parametrize("text", CAPTIONS)
def test_captions_in_many_languages_are_read_as_they_were_written(text: str, lines: int) -> None:
    for encoding in CAPTIONS[text]:
        for row in (text, f"0001.jpg,{text}"):
            data = "\n".join([row] * lines).encode(encoding)
            found = detect_encoding(data)
            assert found is not None
            assert data.decode(found) == data.decode(encoding)


def test_short_texts_are_read_in_their_common_encoding() -> None:
    for encoding, texts in {
        "tis_620": ["รถสีแดงในเมือง", "ชามผลไม้", "คนที่โต๊ะ", "สุนัขวิ่งบนชายหาด"],
        "cp1256": ["وعاء من الفاكهة", "أشخاص على الطاولة", "كلب يركض على الشاطئ"],
    }.items():
        found = common_encoding([b"plain", *(text.encode(encoding) for text in texts)])
        assert found is not None
        assert [text.encode(encoding).decode(found) for text in texts] == texts
    assert common_encoding([b"plain", "\u00e9".encode()]) is None
    assert common_encoding(["un café".encode("cp1252")]) is None


@pytest.mark.parametrize("data", [bytes(range(128, 256)), b"\x81\x8d\x8f\x90\x9d" * 9])
def test_what_reads_like_no_language_is_not_guessed(data: bytes) -> None:
    assert detect_encoding(data) is None


def test_a_few_accents_are_western() -> None:
    assert detect_encoding(b"\xe9") == detect_encoding(b"caf\xe9 \x80 na\xefve") == WESTERN


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    ["A dog\r\nAgain\r\n", "一只狗在沙滩上奔跑\n高大的树木\n", "собака бежит", "a.jpg,μια γάτα\n"],
)
def test_utf16_is_recognised_without_bom(encoding: str, text: str) -> None:
    assert utf16_without_bom(text.encode(encoding)) == encoding


@pytest.mark.parametrize(
    "data",
    [b"", b"a dog", b"a\0b", b"image,caption\n0.jpg,\0\0\0\0", b"do\0g and a cat", bytes(8), b"\xff\xd8\0\1\0\0"],
)
def test_other_bytes_are_not_utf16(data: bytes) -> None:
    assert utf16_without_bom(data) is None
