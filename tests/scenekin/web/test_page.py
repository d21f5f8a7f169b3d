import re
import shutil
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import scenekin.web
from scenekin.web.middleware import HEADERS
from storage.models import refer_to_model
from storage.workspace import Workspace
from tests.scenekin.web.conftest import MARKUP, NAMES, TURNED, a_picture, an_id, client_of
from tests.trained import Trained

WEB = Path(scenekin.web.__file__).parent


def text_of(page: str) -> str:
    """What people read of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def found(page: str) -> list[str]:
    """The ids that the results lead to, in their order."""
    return [unescape(name) for name in re.findall(r'class="why" data-id="([^"]*)"', page)]


def test_it_begins_with_images_from_all_over_the_index(client: TestClient) -> None:
    page = client.get("/").text
    assert "141 images" in text_of(page)
    assert 'alt="extra/copy.jpg"' in page  # no caption: its name
    assert page.count("<li><a href=") == 24


def test_a_link_searches_without_a_script(client: TestClient, trained: Trained) -> None:
    page = client.get("/", params={"id": an_id(trained), "add": "boat, red house", "remove": "car"}).text
    asked = {"id": an_id(trained), "add": ["boat", "red house"], "remove": ["car"], "top": 24}
    results = client.get("/api/search", params=asked).json()["results"]
    assert found(page) == [result["image_id"] for result in results]
    assert [f"{result['score']:.3f}" for result in results] == re.findall(r'class="score">([\d.]+)<', page)
    assert 'value="boat, red house"' in page
    assert f'alt="{results[1]["caption"]}"' in page
    (link,) = re.findall(r'href="(/\?id=[^"]*)" title', page)[1:2]
    assert "&amp;add=boat&amp;add=red+house&amp;remove=car" in link
    assert found(client.get(unescape(link)).text)[0] == results[1]["image_id"]


def test_a_form_searches_without_a_script(client: TestClient, trained: Trained) -> None:
    data = a_picture(trained).read_bytes()
    fields = {"id": "extra/copy.jpg", "text": "", "add": "", "remove": "", "alpha": "1.0", "beta": "0.5"}
    page = client.post("/", files={"image": ("mine.jpg", data)}, data=fields).text
    assert found(page)[0] == an_id(trained)
    assert '<img src="data:image/jpeg;base64,' in page
    assert 'alt="The query: mine.jpg"' in page
    by_id = client.post("/", files={"image": ("", b"")}, data=fields).text
    assert found(by_id)[0] == "extra/copy.jpg"
    by_text = client.post("/", data=fields | {"text": "boat"}).text
    assert re.findall(r'class="score"', by_text)
    assert found(by_text) == []  # a pair of pictures has reasons, a text has none


def test_more_may_be_shown(client: TestClient) -> None:
    assert 'name="top" value="48"' in client.get("/?text=boat").text
    page = client.get("/?text=boat&top=200").text
    assert page.count('class="score"') == 141
    assert "Show more" not in page


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("id=nobody", 404, "No image 'nobody'"),
        ("text=zeppelin", 422, "No word of 'zeppelin' is both known and informative"),
        ("text=boat&top=0", 422, "top: Input should be"),
        ("text=boat&alpha=x", 422, "alpha: Input should be"),
        ("id=" + "x" * 5000, 422, "id: "),
    ],
)
def test_what_cannot_be_answered_is_said_on_the_page(client: TestClient, query: str, status: int, words: str) -> None:
    response = client.get(f"/?{query}")
    assert response.status_code == status
    (told,) = re.findall(r'<p class="problem" role="alert">(.*?)</p>', response.text)
    assert words in unescape(told)
    assert '<form id="ask"' in response.text


def test_an_upload_that_is_no_picture_is_said_on_the_page(client: TestClient) -> None:
    response = client.post("/", files={"image": ("x.jpg", b"hello")})
    assert response.status_code == 415
    assert "Cannot decode the image: not an image, or of an unknown type" in text_of(response.text)
    broken = client.post("/", content=b"x", headers={"content-type": "multipart/form-data"})
    assert broken.status_code == 400
    assert '<form id="ask"' in broken.text


def test_unknown_words_are_named_with_known_ones(client: TestClient, trained: Trained) -> None:
    told = text_of(client.get("/", params={"id": an_id(trained), "add": "baot"}).text)
    assert "No caption had 'baot'; it is passed over. Spelled like it:" in told


def test_captions_and_names_are_escaped(odd: Trained) -> None:
    client = client_of(odd)
    for name in NAMES:
        page = client.get("/", params={"id": name}).text
        assert "<img src=x" not in page
        assert "<b>.png" not in page
        assert MARKUP in unescape(page)
    hostile = '"><script>alert(1)</script>'
    for parameters in ({"id": hostile}, {"text": hostile}, {"id": TURNED, "add": hostile}, {"top": hostile}):
        page = client.get("/", params=parameters).text
        assert "<script>" not in page
    page = client.post("/", files={"image": ("<script>.jpg", (odd.collection / TURNED).read_bytes())}).text
    assert 'alt="The query: &lt;script&gt;.jpg"' in page


def test_the_page_has_no_inline_code_and_its_script_writes_no_html() -> None:
    template, script = (WEB / "page.html.j2").read_text(), (WEB / "page.js").read_text()
    assert not re.search(r"\son\w+=|\sstyle=|<style|javascript:|\| safe", template)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(", script)
    assert not any(re.search(r"https?://(?!www\.w3\.org/)", file.read_text()) for file in WEB.glob("[pi]*.[chsj]*"))


# States.


def test_without_an_index_the_page_says_what_to_run(trained_copy: Trained) -> None:
    client = client_of(trained_copy, "none")
    page = client.get("/")
    assert page.status_code == 503
    assert "There is no index 'none'" in text_of(page.text)
    assert "scenekin index" in text_of(page.text)
    for address in ("/api/index", "/api/search?text=boat", "/api/words?prefix=b", "/images/x", "/api/explain?a=x&b=x"):
        response = client.get(address)
        assert (response.status_code, response.json().keys()) == (503, {"detail"})
    assert trained_copy.run("index", "--name", "none").code == 0
    assert "141 images" in text_of(client.get("/").text)


def test_an_empty_index_says_so(trained_copy: Trained) -> None:
    for file in trained_copy.collection.rglob("*.jpg"):
        file.write_bytes(b"no picture")
    answer = trained_copy.run("index", "--name", "empty").answer
    assert answer["index"]["images"] == 0
    client = client_of(trained_copy, "empty")
    assert "The index is empty" in text_of(client.get("/").text)
    assert client.get("/api/search?text=boat").json()["results"] == []
    assert client.get("/api/index").json()["index"]["images"] == 0


def test_without_a_joint_model_the_page_says_what_trains_one(trained_copy: Trained) -> None:
    workspace = Workspace(trained_copy.workspace)
    manifest = workspace.index / "main" / "1" / "manifest.json"
    (folder,) = (path for path in workspace.models.iterdir() if path.name in manifest.read_text())
    (folder / "text.safetensors").unlink()
    digest = refer_to_model(workspace, folder).digest
    folder.rename(folder.with_name(digest))
    manifest.write_text(manifest.read_text().replace(folder.name, digest))  # as if indexed with that model
    client = client_of(trained_copy)
    page = client.get("/").text
    assert "does not know words; index with a model trained as the candidate regression" in text_of(page)
    assert 'name="add"' not in page
    assert client.get("/api/index").json()["model"]["words"] is False
    for address in ("/api/words?prefix=b", "/api/search?text=boat", "/api/search?id=extra/copy.jpg&add=boat"):
        response = client.get(address)
        assert response.status_code == 422
        assert "does not know words" in response.json()["detail"]
    assert client.get("/api/search?id=extra/copy.jpg").status_code == 200


def test_a_damaged_index_is_named_not_searched(trained_copy: Trained) -> None:
    client = client_of(trained_copy)
    assert client.get("/api/index").status_code == 200
    home = trained_copy.workspace / "index" / "main"
    shutil.copytree(home / "1", home / "2")
    next((home / "2").glob("part-*")).write_bytes(b"torn")
    (home / "CURRENT").write_text("2")
    response = client.get("/api/index")
    assert response.status_code == 503
    assert "damaged" in response.json()["detail"]
    (home / "CURRENT").write_text("1")
    assert client.get("/api/index").status_code == 200


def test_what_nobody_foresaw_is_a_sentence_too(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(trained)
    client._transport.raise_server_exceptions = False  # type: ignore[attr-defined]
    monkeypatch.setattr("scenekin.web.api.index_answer", lambda _: 1 / 0)
    response = client.get("/api/index")
    assert (response.status_code, response.json().keys()) == (500, {"detail"})
    assert response.headers.items() >= HEADERS.items()
