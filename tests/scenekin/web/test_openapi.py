"""Generated requests against the API's own OpenAPI schema."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from scenekin.web.app import create_app
from storage.workspace import Workspace
from tests.trained import Trained

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
PATHS = {"/api/index", "/api/search", "/api/words", "/api/explain", "/images/{image_id}"}


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_response_conforms_to_the_schema(trained: Trained, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(Workspace(trained.workspace)))
    operations = [result.ok() for result in schema.get_all_operations()]
    assert {operation.path for operation in operations} == PATHS
    for operation in operations:
        if mode is GenerationMode.NEGATIVE and operation.path == "/api/index":
            continue  # has no parameters that could be invalid

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        def send(case: schemathesis.Case) -> None:
            case.call_and_validate(checks=CHECKS)

        send()
