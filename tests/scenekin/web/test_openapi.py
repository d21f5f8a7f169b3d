"""The API as its own specification has it, asked anything."""

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
ADDRESSES = {"/api/index", "/api/search", "/api/words", "/api/explain", "/images/{image_id}"}


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_answer_is_as_specified(trained: Trained, mode: GenerationMode) -> None:
    specification = schemathesis.openapi.from_asgi("/openapi.json", create_app(Workspace(trained.workspace)))
    operations = [result.ok() for result in specification.get_all_operations()]
    assert {operation.path for operation in operations} == ADDRESSES
    for operation in operations:
        if mode is GenerationMode.NEGATIVE and operation.path == "/api/index":
            continue  # takes nothing that could be wrong

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        def ask(case: schemathesis.Case) -> None:
            case.call_and_validate(checks=CHECKS)

        ask()
