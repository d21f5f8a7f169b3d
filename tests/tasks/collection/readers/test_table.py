import csv
import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.collection.config import CollectionConfig
from tasks.collection.formats import read_collection
from tasks.collection.readers.table import Table
from tasks.collection.records import Files, Item, Problem, Reading
from tasks.errors import InputError
from tests.tasks.collection.making import captions, collect, files_of, kinds, pictures

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\ufeff"), max_size=12)
FLAT = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\ufeff"), max_size=12)


def parquet(**columns: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def jsonl(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def read(
    name: str, content: str | bytes, *images: str, image: str | None = None, caption: str | None = None
) -> Reading:
    """The table given as the collection, the images around it."""
    config = CollectionConfig(image_column=image, caption_column=caption)
    return read_collection(files_of({name: content}), files_of(dict.fromkeys(images, b"")), None, config)


def of(reading: Reading) -> dict[str, tuple[str, ...]]:
    return {item.path: item.captions for item in reading.items}


BOTH = {"i/a.jpg": ("A dog .",), "i/b.jpg": ("A cat .",)}


@pytest.mark.parametrize("folder", ["", "i/"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "image,caption\n{}a.jpg,A dog .\n{}b.jpg,A cat .\n"),
        ("T.CSV", "Image Path;Caption\r\n{}a.jpg;A dog .\r\n{}b.jpg;A cat .\r\n"),
        ("t.tsv", "caption\tfile\nA dog .\t{}a.jpg\nA cat .\t{}b.jpg\n"),
        ("t.jsonl", '{{"imageName": "{}a.jpg", "text": ["A dog ."]}}\n{{"imageName": "{}b.jpg", "text": "A cat ."}}\n'),
    ],
)
def test_each_kind_of_table_with_names_seen_from_it_or_from_the_images_folder(
    name: str, content: str, folder: str
) -> None:
    reading = read(name, content.format(folder, folder), "i/a.jpg", "i/b.jpg")
    assert (reading.format, of(reading), reading.problems) == ("table", BOTH, ())


def test_parquet_with_whole_numbers_lists_and_categories() -> None:
    columns = {
        "id": pa.array([0, 1], pa.float64()),
        "image": pa.array([2**60 + 1, 7]),
        "captions": [["One .", None, "Two ."], None],
        "split": pa.array(["train", "test"]).dictionary_encode(),
    }
    reading = read("t.parquet", parquet(**columns), str(2**60 + 1), "7")
    assert reading.items == (
        Item("1152921504606846977", "1152921504606846977", ("One .", "Two ."), "train", 1),
        Item("7", "7", (), "test", 2),
    )


def test_of_parquet_only_the_columns_in_use_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    iter_batches = pq.ParquetFile.iter_batches

    def watched(file: pq.ParquetFile, size: int, columns: list[str]) -> Any:
        asked.append(columns)
        return iter_batches(file, size, columns=columns)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", watched)
    columns = {
        "image": [{"bytes": b"x", "path": "a.jpg"}],
        "jpg": [b"\xff\xd8"],
        "embedding": [[0.5]],
        "key": ["a.jpg"],
        "alt": ["A dog ."],
        "lang": ["en"],
    }
    reading = read("t.parquet", parquet(**columns), "a.jpg")
    assert of(reading) == {"a.jpg": ("A dog .",)}
    detail = "image names are read from column key and captions from alt, not from lang"
    assert reading.problems == (Problem("caption-column", "t.parquet", detail),)
    assert {tuple(columns) for columns in asked} == {("jpg",), ("key", "alt", "lang"), ("key", "alt")}


def test_rows_of_one_image_join_and_other_images_have_no_captions() -> None:
    table = "file,caption\na.jpg,One .\nb.jpg,Two .\n./a.jpg,Three .\nb.jpg,\n,Nobody .\n"
    reading = read("t.csv", table, "a.jpg", "b.jpg", "c.jpg")
    assert of(reading) == {"a.jpg": ("One .", "Three ."), "b.jpg": ("Two .",), "c.jpg": ()}
    assert [(problem.kind, problem.item, problem.line) for problem in reading.problems] == [
        ("bad-row", "t.csv", 6),
        ("empty-caption", "b.jpg", 5),
    ]


def test_what_is_no_caption_or_no_name_is_told() -> None:
    table = jsonl({"image": "a.jpg", "caption": 12}, {"image": None, "caption": "x"}, {"image": 1.5}, [], {"image": 7})
    reading = read("t.jsonl", table, "a.jpg", "7")
    assert of(reading) == {"a.jpg": (), "7": ()}
    assert [(problem.kind, problem.item, problem.line) for problem in reading.problems] == [
        *(("bad-row", "t.jsonl", 4), ("bad-row", "t.jsonl", 2), ("bad-row", "t.jsonl", 3), ("bad-row", "a.jpg", 1)),
    ]


def test_every_value_is_text() -> None:
    table = "image_id,file_name,text,\n000123,0007.jpg,NA,\n123,7.jpg,1e5,\n007,NA.jpg,null,\n"
    collection = collect(files_of({"metadata.csv": table, **pictures("0007.jpg", "7.jpg", "NA.jpg")}), "table")
    assert collection.format == "table"
    assert captions(collection) == {"0007.jpg": ("NA",), "7.jpg": ("1e5",), "NA.jpg": ("null",)}


def test_names_outside_the_root_are_refused() -> None:
    table = "file,caption\n/etc/a.jpg,One .\n../../b.jpg,Two .\n" + "i/a.jpg,Three .\n"
    collection = collect(files_of({"t.csv": table, **pictures("i/a.jpg")}))
    assert captions(collection) == {"i/a.jpg": ("Three .",)}
    assert kinds(collection) == {"outside-collection": 2}


@pytest.mark.parametrize(
    ("header", "row", "image", "caption"),
    [
        ("image,caption,file_size", "a.jpg,A dog .,7", "image", "caption"),
        ("image,filename,text", "7,a.jpg,A dog .", "filename", "text"),
        ("id,description,foto", "7,A dog .,a.jpg", "foto", "description"),
        ("title,caption,name,url", "x,A dog .,a.jpg,http://x/a.jpg", "name", "caption"),
        ("path,text,captions", "a.jpg,x,A dog .", "path", "captions"),
    ],
)
def test_columns_are_found_by_name_then_by_values_and_told(header: str, row: str, image: str, caption: str) -> None:
    reading = read("t.csv", f"{header}\n{row}\n", "a.jpg")
    assert of(reading) == {"a.jpg": ("A dog .",)}
    others = ", ".join(name for name in header.split(",") if name not in (image, caption))
    detail = f"image names are read from column {image} and captions from {caption}, not from {others}"
    assert reading.problems == (Problem("caption-column", "t.csv", detail),)


def test_columns_may_be_named() -> None:
    table = "image,path,caption,label\nx.jpg,a.jpg,A cat .,A dog .\n"
    assert of(read("t.csv", table, "a.jpg", image="path", caption="label")) == {"a.jpg": ("A dog .",)}


@pytest.mark.parametrize(
    ("content", "columns", "sentence"),
    [
        (
            "image,path,caption\na.jpg,b.jpg,x",
            {},
            "which column of t.csv names the images \\(image, path\\); .* --image-c",
        ),
        ("image,path,caption\n1,2,x", {}, "which column of t.csv names the images \\(image, path\\); name it"),
        ("left,right,caption\na.jpg,b.jpg,x", {}, "which column of t.csv names the images \\(left, right\\); name it"),
        ("id,caption\n1,x", {}, "which column of t.csv names the images \\(id, caption\\); name it"),
        ("url,caption\nhttp://x/a.jpg,x", {}, "names the images \\(url, caption\\); name it"),
        ("image,title,text\na.jpg,x,y", {}, "contains the captions \\(title, text\\); .* --caption-column"),
        ("image,caption,captions\na.jpg,x,y", {}, "contains the captions \\(caption, captions\\); name it"),
        ("image,label,lang\na.jpg,x,y", {}, "contains the captions \\(label, lang\\); name it"),
        ("image\na.jpg", {}, "t.csv has a single column; give a table of image names and captions"),
        ("a.jpg a dog\nb.jpg a cat", {}, "t.csv has a single column"),
        ("a.jpg,a dog\nb.jpg,a cat", {}, "t.csv has no header; name its columns in a first line"),
        ("image,caption\na.jpg,x", {"image": "img"}, "no column 'img'; set --image-column to image or caption"),
        ("image,caption\na.jpg,x", {"caption": "text"}, "no column 'text'; set --caption-column to caption"),
        ("image,caption\na.jpg,x", {"caption": "image"}, "no column 'image'"),
        ("image,caption\n", {}, "no rows"),
        ("", {}, "no rows"),
    ],
)
def test_columns_that_cannot_be_told_are_one_sentence(content: str, columns: dict[str, str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read("t.csv", content, "a.jpg", **columns)


def test_a_broken_parquet_file_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"t\.parquet is an incomplete Parquet file"):
        read("t.parquet", parquet(image=["a.jpg"], caption=["x"])[:-9], "a.jpg")


def test_a_column_of_splits_is_kept_and_what_is_none_is_told() -> None:
    table = "file,caption,Split\na.jpg,x,train\nb.jpg,x,VAL\nc.jpg,x,test\nd.jpg,x,extra\ne.jpg,x,\na.jpg,y,test\n"
    reading = read("t.csv", table, *(f"{name}.jpg" for name in "abcdef"))
    assert reading.has_splits
    assert [item.split for item in reading.items] == ["train", "validation", "test", None, None, None]
    assert reading.problems == (
        Problem("bad-split", "d.jpg", "unknown split 'extra' is ignored", 5),
        Problem("duplicate-split", "a.jpg", "listed again in test; stays in train", 7),
    )


@pytest.mark.parametrize("value", ["train", "left"])
def test_a_column_of_fewer_than_two_splits_leaves_the_split_to_be_drawn(value: str) -> None:
    reading = read("t.csv", f"file,caption,split\na.jpg,x,{value}\nb.jpg,x,{value}\n", "a.jpg", "b.jpg")
    assert not reading.has_splits
    assert {item.split for item in reading.items} == {None}
    detail = "image names are read from column file and captions from caption, not from split"
    assert reading.problems == (Problem("caption-column", "t.csv", detail),)


TABLE = "image,caption\na.jpg,A dog .\n"


@pytest.mark.parametrize(
    ("contents", "recognised"),
    [
        ({"t.csv": TABLE}, True),
        ({"t.csv": "a,b\n1,2\n"}, True),  # it is all there is
        ({"t.csv": TABLE, "a.jpg": ""}, True),
        ({"t.csv": TABLE, "sub/u.csv": TABLE, "._v.csv": TABLE, "a.jpg": ""}, True),
        ({"t.csv": TABLE, "u.tsv": TABLE, "a.jpg": ""}, False),
        ({"t.csv": "image,label\na.jpg,dog\n", "a.jpg": ""}, False),
        ({"t.parquet": "PAR1", "a.jpg": ""}, False),
        ({"sub/t.csv": TABLE, "a.jpg": ""}, False),
        ({"t.json": TABLE, "a.jpg": ""}, True),
        ({"t.json": "{}", "a.jpg": ""}, False),
        ({"t.md": TABLE, "a.jpg": ""}, False),
        ({"t.md": TABLE}, True),
    ],
)
def test_a_folder_is_a_table_if_the_one_in_its_root_has_both_columns(
    contents: dict[str, str], recognised: bool
) -> None:
    assert Table().recognises(files_of(contents)) is recognised


def test_named_columns_make_a_folder_a_table() -> None:
    files = files_of({"t.csv": "image,label\na.jpg,A dog .\n", "a.jpg": ""})
    assert read_collection(files, files).format == "folder"
    reading = read_collection(files, files, None, CollectionConfig(caption_column="label"))
    assert (reading.format, of(reading)) == ("table", {"a.jpg": ("A dog .",)})


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (files_of({"a.jpg": ""}), "no table .*; give one table"),
        (files_of({"t.csv": TABLE, "u.csv": TABLE}), r"several tables \(t\.csv, u\.csv\)"),
    ],
)
def test_one_table_has_to_be_there(files: Files, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Table().read(files, files, CollectionConfig())


def written_csv(texts: list[str]) -> bytes:
    return separated(texts, ",")


def written_tsv(texts: list[str]) -> bytes:
    return separated(texts, "\t")


def separated(texts: list[str], delimiter: str) -> bytes:
    stream = io.StringIO(newline="")
    rows = [("image", "caption"), *((f"{number}.jpg", text) for number, text in enumerate(texts))]
    csv.writer(stream, delimiter=delimiter).writerows(rows)
    return stream.getvalue().encode()


def written_jsonl(texts: list[str]) -> bytes:
    return jsonl(*({"image": f"{number}.jpg", "caption": text} for number, text in enumerate(texts))).encode()


def written_parquet(texts: list[str]) -> bytes:
    return parquet(image=pa.array([f"{number}.jpg" for number in range(len(texts))], pa.string()), caption=texts)


def come_back(name: str, data: bytes, texts: list[str]) -> None:
    names = [f"{number}.jpg" for number in range(len(texts))]
    expected = {name: (text.strip(),) * bool(text.strip()) for name, text in zip(names, texts, strict=True)}
    reading = read(name, data, *names)
    assert of(reading) == expected
    assert {problem.kind for problem in reading.problems} <= {"empty-caption", "repeated-captions", "short-captions"}


@given(st.lists(TEXT, min_size=1))
def test_captions_come_back_from_a_written_csv_jsonl_and_parquet(texts: list[str]) -> None:
    come_back("t.csv", written_csv(texts), texts)
    come_back("t.jsonl", written_jsonl(texts), texts)
    come_back("t.parquet", written_parquet(texts), texts)


@given(st.lists(FLAT, min_size=1))
def test_captions_of_one_line_come_back_from_a_written_tsv(texts: list[str]) -> None:
    come_back("t.tsv", written_tsv(texts), texts)


@pytest.mark.parametrize(
    ("contents", "sentence"),
    [
        ({"t.csv": TABLE}, r"no column 'img'; set --image-column to image or caption\.$"),
        ({"t.csv": TABLE, "u.csv": TABLE}, r"several tables \(t\.csv, u\.csv\)"),
    ],
)
def test_a_wrong_column_is_said_though_there_are_images(contents: dict[str, str], sentence: str) -> None:
    files = files_of({**contents, "a.jpg": ""})
    with pytest.raises(InputError, match=sentence):
        read_collection(files, files, None, CollectionConfig(image_column="img"))


@pytest.mark.parametrize("name", ["captions.txt", "list.json", "t.csv"])
def test_a_table_is_found_by_its_content(name: str) -> None:
    table = [{"image_name": "a.jpg", "comment": "A dog ."}]
    content = json.dumps(table) if name == "list.json" else 'image_name,comment_number,comment\na.jpg,0,"A dog ."\n'
    reading = read_collection(*[files_of({name: content, "readme.txt": "Notes, and more .", **pictures("a.jpg")})] * 2)
    assert (reading.format, of(reading)) == ("table", {"a.jpg": ("A dog .",)})


def test_texts_next_to_images_are_no_tables() -> None:
    files = files_of({"a.txt": "image,caption\nb.jpg,x\n", **pictures("a.jpg")})
    assert read_collection(files, files).format == "sidecar"


def test_numbered_columns_are_read_together_and_empty_cells_are_no_captions() -> None:
    table = "image,caption_1,caption_2,caption_3\na.jpg,One .,Two .,Three .\nb.jpg,Four .,,\n"
    reading = read("t.csv", table, "a.jpg", "b.jpg")
    assert of(reading) == {"a.jpg": ("One .", "Two .", "Three ."), "b.jpg": ("Four .",)}
    assert reading.problems == ()


def test_several_columns_may_be_named() -> None:
    config = CollectionConfig(caption_column=("title", "note"))
    files = files_of({"t.csv": "image,title,note,size\na.jpg,One .,Two .,7\n", **pictures("a.jpg")})
    reading = read_collection(files, files, None, config)
    assert of(reading) == {"a.jpg": ("One .", "Two .")}
    assert reading.problems == ()  # the columns were chosen


@pytest.mark.parametrize("asked", ["beschreibung", " Beschreibung ", "BESCHREI\u0042UNG"])
def test_a_column_may_be_named_in_another_letter_case(asked: str) -> None:
    table = "Datei Name,Beschreibung,Ort\na.jpg,A dog .,Ulm\n"
    assert of(read("t.csv", table, "a.jpg", image="datei  name", caption=asked)) == {"a.jpg": ("A dog .",)}
    with pytest.raises(InputError, match="no column 'ort'"):
        read("t.csv", "image,Ort,ORT\na.jpg,Ulm,Bonn\n", "a.jpg", caption="ort")


@pytest.mark.parametrize(
    ("cell", "texts"),
    [
        ('["One .", "Two ."]', ("One .", "Two .")),
        ("['One .', \"It's two .\"]", ("One .", "It's two .")),
        ("[1, 2]", ("[1, 2]",)),
        ("[sic] a dog [there]", ("[sic] a dog [there]",)),
        ("[" * 5000 + "]" * 5000, ("[" * 5000 + "]" * 5000,)),
    ],
)
def test_a_cell_that_holds_a_list_of_texts_is_that_many_captions(cell: str, texts: tuple[str, ...]) -> None:
    assert of(read("t.parquet", parquet(image=["a.jpg"], caption=[cell]), "a.jpg")) == {"a.jpg": texts}


def test_text_in_binary_columns_is_text() -> None:
    data = parquet(file_name=[b"a.jpg"], caption=["caf\u00e9".encode()])
    assert of(read("t.parquet", data, "a.jpg")) == {"a.jpg": ("caf\u00e9",)}


def test_the_encoding_may_be_named() -> None:
    files = files_of(
        {
            "t.csv": "image,caption\na.jpg,\u017elu\u0165ou\u010dk\u00fd k\u016f\u0148\n".encode("cp1250"),
            **pictures("a.jpg"),
        }
    )
    reading = read_collection(files, files, None, CollectionConfig(encoding="windows-1250"))
    assert of(reading) == {"a.jpg": ("\u017elu\u0165ou\u010dk\u00fd k\u016f\u0148",)}


def test_images_next_to_a_table_that_contains_copies_are_read() -> None:
    data = parquet(jpg=[b"\xff\xd8"], caption=["A dog ."], filename=["a.jpg"])
    assert of(read("t.parquet", data, "a.jpg")) == {"a.jpg": ("A dog .",)}


def test_tables_that_scenekin_wrote_are_not_taken_for_captions() -> None:
    own = {
        "problems.csv": "kind,item,line,detail\nno-caption,b.jpg,,has no captions\n",
        "results.csv": "query,rank,image_id,path,score,caption\nb.jpg,1,a.jpg,a.jpg,0.9,\n",
        "duplicates.csv": "group,size,image_id,path,copy_of,nearest,score\n1,2,a.jpg,a.jpg,,b.jpg,1\n",
    }
    files = files_of({"list.csv": "image,caption\na.jpg,A dog .\n", **own, **pictures("a.jpg", "b.jpg")})
    assert Table().recognises(files)
    (item, _) = Table().read(files, files, CollectionConfig()).items
    assert item.captions == ("A dog .",)


def test_of_several_tables_the_one_with_the_named_column_is_read() -> None:
    tables = {"a.csv": "image,title\na.jpg,x\n", "b.csv": "image,Beschreibung\na.jpg,A dog .\n"}
    files = files_of({**tables, **pictures("a.jpg")})
    (item,) = Table().read(files, files, CollectionConfig(caption_column="Beschreibung")).items
    assert item.captions == ("A dog .",)
    with pytest.raises(InputError, match=r"several tables \(a\.csv, b\.csv\)"):
        Table().read(files, files, CollectionConfig())
