import io
import re
import shutil
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

import scenekin.web
from scenekin.web.app import create_app
from scenekin.web.middleware import SECURITY_HEADERS
from scenekin.web.served_index import ServedIndex
from storage.index.versions import current_manifest
from storage.models import refer_to_model
from storage.workspace import Workspace
from tasks.search.stage import write_approximate
from tests.indexes import publish_images
from tests.scenekin.web.conftest import MARKUP, NAMES, TURNED, a_picture, an_id, client_of, draw
from tests.trained import Trained

WEB = Path(scenekin.web.__file__).parent


def a_jpeg() -> bytes:
    stream = io.BytesIO()
    draw(5).save(stream, "JPEG")
    return stream.getvalue()


def text_of(page: str) -> str:
    """The visible text of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def found(page: str) -> list[str]:
    """The ids of the results, in order."""
    return [unescape(name) for name in re.findall(r'class="why" data-id="([^"]*)"', page)]


def test_it_starts_with_images_from_all_over_the_index(client: TestClient) -> None:
    page = client.get("/").text
    assert "141 images" in text_of(page)
    assert 'alt="extra/copy.jpg"' in page  # no caption: its name
    assert page.count('class="picture"') == 24


def test_a_link_searches_without_a_script(client: TestClient, trained: Trained) -> None:
    page = client.get("/", params={"id": an_id(trained), "add": "boat, red house", "remove": "car"}).text
    asked = {"id": an_id(trained), "add": ["boat", "red house"], "remove": ["car"], "top": 24}
    results = client.get("/api/search", params=asked).json()["results"]
    assert found(page) == [result["image_id"] for result in results]
    assert [f"{result['score']:.3f}" for result in results] == re.findall(r'class="score"[^>]*>([\d.]+)<', page)
    assert 'value="boat, red house"' in page
    assert f'alt="{results[1]["caption"]}"' in page
    assert "more of boat, red house · less of car" in text_of(page)
    (link,) = re.findall(r'href="(/\?id=[^"]*)" title', page)[1:2]
    assert "boat" not in link  # a new search starts without the words of this one
    assert found(client.get(unescape(link)).text)[0] == results[1]["image_id"]


def test_a_form_searches_without_a_script(client: TestClient, trained: Trained) -> None:
    data = a_picture(trained).read_bytes()
    fields = {"id": "extra/copy.jpg", "text": "", "add": "", "remove": "", "alpha": "1.0", "beta": "0.5"}
    page = client.post("/", files={"image": ("mine.jpg", data)}, data=fields).text
    assert found(page)[0] == an_id(trained)
    assert '<img src="data:image/jpeg;base64,' in page
    assert 'alt="Query: mine.jpg"' in page
    by_id = client.post("/", files={"image": ("", b"")}, data=fields).text
    assert found(by_id)[0] == "extra/copy.jpg"
    by_text = client.post("/", data=fields | {"text": "boat"}).text
    assert re.findall(r'class="score"', by_text)
    assert found(by_text) == []  # only pairs of pictures can be explained


def test_show_more(client: TestClient) -> None:
    assert 'name="top" value="48"' in client.get("/?text=boat").text
    page = client.get("/?text=boat&top=200").text
    assert page.count('class="score"') == 141
    assert "Show more" not in page


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("id=nobody", 404, "No image 'nobody'"),
        ("text=zeppelin", 422, "Every word of 'zeppelin' is unknown or too common"),
        ("text=boat&top=0", 422, "top must be at least 1, not "),
        ("text=boat&alpha=x", 422, "alpha must be a number, not 'x'."),
        ("id=" + "x" * 5000, 422, "id must have at most 4,096 characters."),
    ],
)
def test_an_invalid_search_is_explained_on_the_page(client: TestClient, query: str, status: int, message: str) -> None:
    response = client.get(f"/?{query}")
    assert response.status_code == status
    (error,) = re.findall(r'<p class="problem" role="alert">(.*?)</p>', response.text)
    assert message in unescape(error)
    assert '<form id="search"' in response.text


def test_a_refused_upload_is_explained_on_the_page(client: TestClient) -> None:
    response = client.post("/", files={"image": ("x.jpg", b"hello")})
    assert response.status_code == 415
    assert "Cannot decode the image: not an image, or of an unknown type" in text_of(response.text)
    broken = client.post("/", content=b"x", headers={"content-type": "multipart/form-data"})
    assert broken.status_code == 400
    assert '<form id="search"' in broken.text


def test_a_refused_search_keeps_what_was_typed(client: TestClient) -> None:
    typed = {"text": "a quiet harbour", "add": "snow, fog", "remove": "car"}
    for alpha, upload in (("1.0", b"hello"), ("x", a_jpeg())):
        page = client.post("/", files={"image": ("x.jpg", upload)}, data=typed | {"alpha": alpha}).text
        assert 'role="alert"' in page
        for value in typed.values():
            assert f'value="{value}"' in page


def test_results_show_file_names_and_captions_and_link_to_originals(odd: Trained) -> None:
    page = client_of(odd).get("/", params={"id": TURNED}).text
    (card,) = re.findall(r"<li>(?:(?!<li>).)*?日本の家.*?</li>", page, re.DOTALL)
    assert '<p class="name" title="日本の家.jpg">日本の家.jpg</p>' in card
    assert ">A house in the snow.</p>" in card
    address = f"/images/{quote('日本の家.jpg')}?size=original"
    assert f'href="{address}" target="_blank"' in card
    assert f'href="{address}" download="日本の家.jpg"' in card


def test_recall_is_a_setting_of_an_approximate_index_only(tmp_path: Path, client: TestClient) -> None:
    assert 'name="recall"' not in client.get("/").text
    ids = {f"{number:04}.jpg": f"sha-{number}" for number in range(2000)}
    publish_images(Workspace(tmp_path), ids, approximate_from=2000, approximate=write_approximate)
    approximate = TestClient(create_app(Workspace(tmp_path)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServedIndex, "no_words", "there is no model")
        page = approximate.get("/?id=0000.jpg&recall=0.9&top=10").text
        assert '<option value="0.9" selected>' in page
        assert "Approximate search: it finds" in page
        assert "&amp;recall=0.9" in page  # of the links to search by a result
        exact = approximate.get("/?id=0000.jpg&recall=1").text
    assert '<option value="1.0" selected>1 (exact, slower)' in exact
    assert "Exact search." in exact


def test_unknown_words_are_named_with_known_ones(client: TestClient, trained: Trained) -> None:
    told = text_of(client.get("/", params={"id": an_id(trained), "add": "baot"}).text)
    assert "No training caption contains 'baot'; it is ignored. Did you mean" in told


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
    assert 'alt="Query: &lt;script&gt;.jpg"' in page


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
    space = Workspace(trained_copy.workspace)
    main = current_manifest(space, "main")
    assert main is not None
    publish_images(space, {}, name="empty", model=main.model)
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
    assert "knows no words; index the collection with a model of another method, such as regression" in text_of(page)
    assert 'name="add"' not in page
    assert client.get("/api/index").json()["model"]["words"] is False
    for address in ("/api/words?prefix=b", "/api/search?text=boat", "/api/search?id=extra/copy.jpg&add=boat"):
        response = client.get(address)
        assert response.status_code == 422
        assert "knows no words" in response.json()["detail"]
    assert client.get("/api/search?id=extra/copy.jpg").status_code == 200


def test_a_damaged_index_is_refused(trained_copy: Trained) -> None:
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


def test_an_unexpected_error_is_an_internal_error(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(trained)
    client._transport.raise_server_exceptions = False  # type: ignore[attr-defined]
    monkeypatch.setattr("scenekin.web.api.index_response", lambda _: 1 / 0)
    response = client.get("/api/index")
    assert (response.status_code, response.json()) == (500, {"detail": "Internal error; see the server's log."})
    assert response.headers.items() >= SECURITY_HEADERS.items()


def test_a_result_shows_its_folder(client: TestClient) -> None:
    assert '>copy.jpg</p>\n<p class="folder" title="extra/copy.jpg">extra</p>' in client.get("/").text


def test_missing_images_are_reported(trained_copy: Trained) -> None:
    trained_copy.run("index", "--name", "copy")
    with client_of(trained_copy, "copy") as client:
        missing = "The images of this index cannot be found"
        assert missing not in client.get("/").text
        trained_copy.collection.rename(trained_copy.collection.with_name("moved"))
        page = client.get("/").text
        assert missing in page
        assert str(trained_copy.collection) not in page  # visitors need not know where
