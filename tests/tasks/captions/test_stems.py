import json
import time
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.captions.stems import count_stems, count_words, languages, stem, tokenise
from tests.shared import case, with_shared


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A red ball\non the\tgrass\r\nby the wall", "a red ball on the grass by the wall"),
        ("Salt &amp; Pepper&#39;s red house &lt;3", "salt pepper s red house 3"),
        ("red | white | \"blue\" , 'flag'", "red white blue flag"),
        ("snake_case 12 345", "snake case 12 345"),
        ("Straße ﬁne Ⅳ Ｗｉｄｅ CAFÉ cafe\u0301", "strasse fine iv wide café café"),
        ("Красный мяч", "красный мяч"),
        ("草地上有球", "草地 地上 上有 有球"),
        ("狗 and 2只狗！", "狗 and 2 只狗"),
        ("サッカーをする", "サッ ッカ カー ーを をす する"),
        ("สุนัขวิ่ง", "สุนั นัข ขวิ่ วิ่ง"),
        ("개가 모래 해변을", "개가 모래 해변을"),
        ("a red\u0000ball \ud83d here", "a red ball here"),
        ("घास पर लाल गेंद", "घास पर लाल गेंद"),
        ("كُرَة حمراء", "كُرَة حمراء"),
        ("", ""),
        (" \t ", ""),
        ("!!! ... ???", ""),
        ("🐶🎾 😀", ""),
    ],
)
def test_tokenise(text: str, words: str) -> None:
    assert tokenise(text) == words.split()


def test_sentences_without_spaces_share_words() -> None:
    one, other = (count_words([text]) for text in ("一只狗在沙滩上奔跑", "小狗在沙滩上"))
    assert one.keys() & other.keys() == {"狗在", "在沙", "沙滩", "滩上"}


@given(st.text(st.characters(exclude_categories=["Cn"])))
def test_words_are_letters_and_digits_and_marks_upon_them(text: str) -> None:
    for word in tokenise(text):
        assert {unicodedata.category(letter)[0] for letter in word} <= set("LNM")
        assert unicodedata.category(word[0])[0] in "LN"


def test_forms_of_a_word_share_a_stem() -> None:
    assert {stem(word, "english") for word in tokenise("RUNNING runs Run")} == {"run"}
    assert stem("läuft", "german") != stem("läuft", "english")


@given(st.text(st.characters(categories=["L", "N"]), min_size=1), st.sampled_from(languages()))
def test_every_word_has_a_stem(word: str, language: str) -> None:
    for token in tokenise(word):
        assert stem(token, language)


def test_porter_is_no_language() -> None:
    assert "porter" not in languages()
    assert "english" in languages()


@pytest.mark.parametrize("word", ["y" * 12_000, "x" + "ab" * 2_500])
def test_long_words_are_fast(word: str) -> None:
    started = time.monotonic()
    assert stem(word, "english").startswith(word[:2_000])
    assert time.monotonic() - started < 5


def test_an_image_s_captions_are_one_bag() -> None:
    words = count_words(["A dog runs.", "The dog is running"])
    assert words == Counter(a=1, dog=2, runs=1, the=1, **{"is": 1}, running=1)
    assert count_stems(words, "english") == Counter(a=1, dog=2, run=2, the=1, **{"is": 1})
    assert count_words([]) == count_stems(Counter(), "english") == Counter()


@with_shared
def test_odd_captions() -> None:
    lines = (case("F16") / "metadata.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {record["file_name"].removesuffix(".jpg"): record["text"] or "" for record in map(json.loads, lines)}
    bags = {name: count_stems(count_words([text]), "english") for name, text in texts.items()}
    assert {name for name, bag in bags.items() if not bag} == {"e00", "e01", "e04", "e05", "null"}
    assert bags["ent_a"] == bags["ent_b"]
    assert bags["ws"] == bags["ws_twin"]
    assert bags["case"] == {"run": 3}
