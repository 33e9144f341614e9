"""What stands before every request: who may ask, how much may be sent, and what browsers are told in return.

Any web site that is open in a browser can send requests to this machine. Such requests carry the site's name: in
`Origin`, in `Sec-Fetch-Site`, or, if the site has its name point to this machine, in `Host`. They are refused.
"""

import asyncio
import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
# An upload that sends nothing for so long is given up.
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Door:
    """Under which names, and at which port, the page may be asked for."""

    port: int
    names: frozenset[str]
    any_address: bool = False
    """Whether any numeric address will do: where the server listens on all. Only names can be made to point here."""
    proxies: frozenset[str] = frozenset()
    """Names that are good at any port: those of proxies before this server."""

    def admits_host(self, host: str) -> bool:
        """Whether a Host header names this server."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if parts.path or parts.query or parts.fragment or parts.username is not None:
            return False
        known = name in self.names or (self.any_address and _is_address(name))
        return (known and port == self.port) or name in self.proxies

    def admits_origin(self, origin: str) -> bool:
        """Whether an Origin header names this server."""
        scheme, separator, host = origin.partition("://")
        return scheme in ("http", "https") and separator != "" and self.admits_host(host)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class TooLargeError(Exception):
    """More was sent than is allowed."""


class TooSlowError(Exception):
    """Nothing was sent for too long."""


class Guard:
    """Refuses foreign requests and oversized bodies, and adds the headers that keep a browser strict."""

    def __init__(self, app: ASGIApp, door: Callable[[], Door], most_bytes: int) -> None:
        self._app, self._door, self._most_bytes = app, door, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_strictly(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope["method"], headers)
        if refusal:
            await refusal(scope, receive, send_strictly)
        else:
            await self._app(scope, self._limited(receive), send_strictly)

    def _refusal(self, method: str, headers: dict[bytes, str]) -> JSONResponse | None:
        door = self._door()
        if not door.admits_host(headers.get(b"host", "")):
            return _refused(403, "this server does not answer to that name; see --allow-host")
        origin = headers.get(b"origin")
        if origin is not None and not door.admits_origin(origin):
            return _refused(403, "requests from other web sites are refused")
        follows_link = method == "GET" and headers.get(b"sec-fetch-mode") == "navigate"
        if headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin") and not follows_link:
            return _refused(403, "requests from other web sites are refused")
        length = headers.get(b"content-length", "0")
        if not length.isdecimal() or int(length) > self._most_bytes:
            return _refused(413, too_large(self._most_bytes))
        return None

    def _limited(self, receive: Receive) -> Receive:
        received, complete = 0, False

        async def receive_limited() -> Message:
            nonlocal received, complete
            if complete:  # What comes now is the end of the connection, whenever that is.
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), PATIENCE_SECONDS)
            except TimeoutError as error:
                raise TooSlowError from error
            received += len(message.get("body", b""))
            if received > self._most_bytes:
                raise TooLargeError
            complete = not message.get("more_body", False)
            return message

        return receive_limited


def too_large(most_bytes: int) -> str:
    """Return the sentence about an upload that is too large."""
    return f"the upload is larger than the {most_bytes / 2**20:,.0f} MB allowed here"


def _refused(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status)
