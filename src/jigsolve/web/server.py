"""serve(): binds, warns, and runs the application until Ctrl-C."""

import contextlib
import ipaddress
import socket
import webbrowser
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from ..errors import InputError
from .app import create_app
from .guard import LOOPBACK_NAMES, Door, is_loopback
from .limits import Limits

SHUTDOWN_SECONDS = 5


class _Server(uvicorn.Server):
    """Ends those who follow jobs before it waits for them to go."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app, self._ready = app, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._app.state.board.close()
        await super().shutdown(sockets)


def serve(
    host: str,
    port: int,
    *,
    limits: Limits | None = None,
    allowed: tuple[str, ...] = (),
    open_browser: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes any that is free.
    limits
        What clients may do.
    allowed
        Names, beside `host`, that this server is asked for by: those of a proxy before it.
    open_browser
        Whether to open the page in the browser of this machine.
    say
        Called with what the person who started it should know.

    Raises
    ------
    InputError
        If it is not possible to listen there.
    """
    bound = _bind(host, port)
    port = bound.getsockname()[1]
    url = f"http://{_in_url(host)}:{port}/"
    limits = limits or Limits()
    app = create_app(door_of(host, port, allowed), limits)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        limit_concurrency=limits.followers,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    if not is_loopback(host):
        say(
            f"warning: anybody who can reach {host} can use this page; it asks for no password. "
            "Leave --host out to keep it to this machine"
        )

    def ready() -> None:
        say(f"jigsolve is at {url} (Ctrl-C ends it)")
        if open_browser:
            webbrowser.open(url)

    with bound, contextlib.suppress(KeyboardInterrupt):  # That is how it ends.
        _Server(config, app, ready).run(sockets=[bound])


def door_of(host: str, port: int, allowed: tuple[str, ...] = ()) -> Door:
    """Return under which names a server may be asked for that listens at a host and a port."""
    everywhere = host in ("0.0.0.0", "::")  # noqa: S104
    own = (socket.gethostname().lower(),) if everywhere else ()
    names, proxies = (
        frozenset(name.lower().strip("[]") for name in some) for some in ((*LOOPBACK_NAMES, host, *own), allowed)
    )
    return Door(port, names, any_address=everywhere, proxies=proxies)


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind)
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"there is no address {host!r} to listen at; leave --host out for this machine only"
        ) from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except (OSError, OverflowError) as error:
        bound.close()
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen at {host} port {port}: {reason}; choose another --port") from error
    return bound


def _in_url(host: str) -> str:
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        return host
