from typing import Any

import pytest
from starlette.testclient import TestClient

from scenekin import Searcher
from tests.command import scenekin
from tests.scenekin.web.conftest import MARKUP, NAMES, TURNED, a_picture, an_id, client_of
from tests.tasks.images.making import encode, flat
from tests.trained import Trained


def search(client: TestClient, status: int = 200, **parameters: Any) -> dict[str, Any]:
    response = client.get("/api/search", params=parameters)
    assert response.status_code == status, response.text
    answer: dict[str, Any] = response.json()
    return answer


def test_search_by_id_returns_the_results_of_the_command(client: TestClient, trained: Trained) -> None:
    options = ("--id", an_id(trained), "--add", "boat", "--add", "zeppelin", "--alpha", "0.5", "--top", "7")
    command = scenekin("search", *options, "--workspace", trained.workspace, "--json").answer
    answer = search(client, id=an_id(trained), add=["boat", "zeppelin"], alpha=0.5, top=7)
    for found in answer["results"]:
        assert found["caption"] is None if found["path"].startswith("extra/") else found["caption"][-1] == "."
    assert answer["results"] == command["results"]
    assert answer["query"] == command["query"]
    assert answer["query"]["suggestions"].keys() == answer["query"]["passed_over"].keys() == {"zeppelin"}
    assert answer["index"] == {"name": "main", **command["index"]}
    assert answer["model"] == {**command["model"], "words": True}


def test_an_upload_returns_the_results_of_its_file(client: TestClient, trained: Trained) -> None:
    picture = a_picture(trained)
    response = client.post(
        "/api/search",
        files={"image": ("mine.jpg", picture.read_bytes())},
        data={"add": ["boat", "house"], "remove": "car", "top": "3"},
    )
    answer = response.json()
    expected = Searcher.open(trained.workspace).search(picture, add=["boat", "house"], remove=["car"], top=3)
    assert [found["image_id"] for found in answer["results"]] == [result.image_id for result in expected]
    assert [found["score"] for found in answer["results"]] == pytest.approx([result.score for result in expected])
    assert answer["query"]["image"] == "mine.jpg"
    assert answer["query"]["added"] == ["boat", "house"]


def test_a_form_searches_by_id_or_text(client: TestClient, trained: Trained) -> None:
    assert client.post("/api/search", data={"id": an_id(trained)}).json() == search(client, id=an_id(trained))
    assert client.post("/api/search", data={"text": "boat"}).json() == search(client, text="boat")


@pytest.mark.parametrize(
    ("parameters", "status", "message"),
    [
        ({}, 422, "Give exactly one query: an image, the id"),
        ({"id": "nobody"}, 404, "No image 'nobody' in the index 'main'"),
        ({"id": "../../../etc/passwd"}, 404, "No image"),
        ({"text": ""}, 422, "The text is empty."),
        ({"text": "zeppelin"}, 422, "Every word of 'zeppelin'"),
        ({"text": "boat", "id": "x"}, 404, "No image 'x'"),
        ({"text": "boat", "top": 0}, 422, "top must be at least 1, not '0'."),
        ({"text": "boat", "top": 10**9}, 422, "top must be at most 200, not "),
        ({"text": "boat", "top": "ten"}, 422, "top must be a whole number, not 'ten'."),
        ({"text": "boat", "top": 0, "alpha": "x"}, 422, "alpha must be a number, not 'x'; top must be at least 1"),
        ({"text": "boat", "alpha": "nan"}, 422, "alpha must be "),
        ({"text": "boat", "beta": -1}, 422, "beta must be at least 0, not "),
        ({"text": "x" * 10_001}, 422, "text must have at most 10,000 characters."),
        ({"text": "boat", "add": ["x" * 201]}, 422, "each of add must have at most 200 characters."),
        ({"text": "boat", "add": ["snow"] * 33}, 422, "add must have at most 32 values, not 33."),
    ],
)
def test_invalid_parameters_are_explained(
    client: TestClient, parameters: dict[str, Any], status: int, message: str
) -> None:
    answer = search(client, status, **parameters)
    assert answer.keys() == {"detail"}
    assert message in answer["detail"]
    assert answer["detail"].endswith((".", "?"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"hello", "Cannot decode the image: not an image"),
        (b"", "empty file"),
        (b"\xff\xd8\xff\xe0", "Cannot decode the image"),
    ],
)
def test_an_upload_that_is_not_an_image_is_refused(client: TestClient, data: bytes, words: str) -> None:
    for address, more in (("/api/search", {}), ("/api/explain", {"b": "extra/copy.jpg"})):
        response = client.post(address, files={"image": ("x.jpg", data)}, data=more)
        assert response.status_code == 415
        assert words in response.json()["detail"]


def test_a_body_that_is_no_form_is_refused(client: TestClient) -> None:
    for address in ("/api/search", "/api/explain", "/"):
        response = client.post(address, json={"text": "boat", "b": "extra/copy.jpg"})
        assert response.status_code == 415
        sentence = "Send the parameters as a form (multipart/form-data), not as application/json."
        assert response.json() == {"detail": sentence}
    assert client.post("/api/explain", data={}).json() == {"detail": "b is missing."}


def test_every_parameter_is_described(client: TestClient) -> None:
    api = client.get("/openapi.json").json()
    bodies = [
        schema for name, schema in api["components"]["schemas"].items() if name.startswith("Body_") or "Upload" in name
    ]
    assert len(bodies) == 2
    parameters = [
        each for path in api["paths"].values() for call in path.values() for each in call.get("parameters", [])
    ]
    fields = [field for body in bodies for field in body["properties"].values()]
    assert len(parameters) > 10
    assert [each for each in (*parameters, *fields) if not each.get("description")] == []


def test_a_malformed_form_is_refused(client: TestClient) -> None:
    response = client.post("/api/search", content=b"x", headers={"content-type": "multipart/form-data"})
    assert response.status_code == 400
    assert response.json().keys() == {"detail"}


def test_words_complete_a_prefix_or_have_a_similar_spelling(client: TestClient) -> None:
    begun = client.get("/api/words", params={"prefix": "a red B", "top": 5}).json()["words"]
    assert 1 <= len(begun) <= 5
    assert all(word["word"].startswith("b") and word["images"] > 0 for word in begun)
    near = client.get("/api/words", params={"prefix": "baot"}).json()["words"]
    assert "boat" in [word["word"] for word in near]
    assert client.get("/api/words").json() == {"words": []}


def test_the_index_is_described(client: TestClient) -> None:
    assert client.get("/api/index").json() == {
        "model": {"name": "scenekin", "version": 1, "words": True},
        "index": {"name": "main", "version": 1, "images": 141},
    }


def test_captions_are_returned_unchanged(odd: Trained) -> None:
    answer = search(client_of(odd), id="deep/er/plain.jpg")
    captions = {found["image_id"]: found["caption"] for found in answer["results"]}
    assert captions == {**NAMES, TURNED: None}
    assert captions["a b#1%20?.jpg"] == MARKUP


def test_explanation_of_two_indexed_images(client: TestClient, trained: Trained) -> None:
    a, b = an_id(trained), "extra/copy.jpg"
    answer = client.get("/api/explain", params={"a": a, "b": b}).json()
    explanation = Searcher.open(trained.workspace).explain(trained.collection / a, trained.collection / b)
    assert answer["score"] == pytest.approx(explanation.score)
    assert [part["index"] for part in answer["dimensions"]] == [part.index for part in explanation.dimensions]
    assert answer["evidence"] == explanation.evidence
    assert f"{explanation.score:z.3f}" in answer["summary"]
    assert all(picture.startswith("data:image/jpeg;base64,") for picture in answer["pictures"].values())


def test_explanation_of_an_upload(client: TestClient, trained: Trained) -> None:
    a, b = an_id(trained), "extra/copy.jpg"
    file = {"image": ("x.jpg", a_picture(trained).read_bytes())}
    by_id = client.get("/api/explain", params={"a": a, "b": b}).json()
    assert client.post("/api/explain", files=file, data={"b": b}).json() == by_id
    assert client.post("/api/explain", data={"a": a, "b": b}).json() == by_id
    for files, data in ((file, {"a": a, "b": b}), (None, {"b": b})):
        response = client.post("/api/explain", files=files, data=data)
        assert (response.status_code, response.json()["detail"]) == (
            422,
            "Give either `image` (a file) or `a` (the id of an indexed image).",
        )
    assert client.get("/api/explain", params={"a": a, "b": "nobody"}).status_code == 404


def test_an_id_is_never_a_path(client: TestClient, trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trained.collection)
    (broken,) = trained.collection.rglob("zz-broken.jpg")
    for name in (str(a_picture(trained)), broken.relative_to(trained.collection).as_posix()):
        for parameters in ({"a": name, "b": an_id(trained)}, {"a": an_id(trained), "b": name}):
            assert client.get("/api/explain", params=parameters).status_code == 404
        assert search(client, 404, id=name)


def test_an_upload_that_takes_too_much_memory_is_refused(client: TestClient) -> None:
    files = {"image": ("large.png", encode(flat((1,), 12_000, 11_000, mode="1")))}
    response = client.post("/api/search", files=files)
    assert response.status_code == 415
    assert "exceeds the limit of 537 MB" in response.json()["detail"]
