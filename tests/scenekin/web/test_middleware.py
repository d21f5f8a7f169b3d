import pytest
from starlette.testclient import TestClient

from tests.scenekin.web.conftest import an_id
from tests.trained import Trained


@pytest.mark.parametrize("address", ["/", "/page.css", "/api/index", "/openapi.json", "/images/{id}", "/nothing"])
def test_head_tells_what_get_would_without_the_body(address: str, client: TestClient, trained: Trained) -> None:
    address = address.format(id=an_id(trained))
    told, whole = client.head(address), client.get(address)
    assert (told.status_code, dict(told.headers)) == (whole.status_code, dict(whole.headers))
    assert told.content == b""
    assert whole.content
