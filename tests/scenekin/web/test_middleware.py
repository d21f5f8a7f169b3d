import pytest
from starlette.testclient import TestClient

from tests.scenekin.web.conftest import an_id
from tests.trained import Trained


@pytest.mark.parametrize("address", ["/", "/page.css", "/api/index", "/openapi.json", "/images/{id}", "/nothing"])
def test_head_responds_like_get_without_the_body(address: str, client: TestClient, trained: Trained) -> None:
    address = address.format(id=an_id(trained))
    head, get = client.head(address), client.get(address)
    assert (head.status_code, dict(head.headers)) == (get.status_code, dict(get.headers))
    assert head.content == b""
    assert get.content
