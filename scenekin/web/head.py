"""HEAD requests, which ask what a GET would answer, without its body."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class AnswerHead:
    """Answers HEAD wherever GET is answered."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI call."""

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        if scope["type"] == "http" and scope["method"] == "HEAD":
            await self.app({**scope, "method": "GET"}, receive, without_body)
        else:
            await self.app(scope, receive, send)
