import pytest

from jigsolve.web.guard import is_loopback
from jigsolve.web.server import door_of


@pytest.mark.parametrize(
    ("host", "admitted"),
    [
        ("127.0.0.1:8000", True),
        ("localhost:8000", True),
        ("LOCALHOST:8000", True),
        ("[::1]:8000", True),
        ("127.0.0.1:8001", False),
        ("127.0.0.1", False),
        ("evil.example:8000", False),
        ("localhost.evil.example:8000", False),
        ("127.0.0.1:8000@evil.example:8000", False),
        ("evil.example@127.0.0.1:8000", False),
        ("127.0.0.1:8000/evil", False),
        ("127.0.0.1:8000#", True),  # An empty fragment names the same server.
        ("127.0.0.1:port", False),
        ("[::1:8000", False),
        ("", False),
    ],
)
def test_only_own_names_are_admitted(host, admitted):
    assert door_of("127.0.0.1", 8000).admits_host(host) == admitted


@pytest.mark.parametrize(
    ("origin", "admitted"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("http://evil.example", False),
        ("http://127.0.0.1:9000", False),
        ("null", False),
        ("file://", False),
        ("", False),
    ],
)
def test_only_own_origins_are_admitted(origin, admitted):
    assert door_of("127.0.0.1", 8000).admits_origin(origin) == admitted


def test_a_server_on_all_addresses_admits_numbers_but_no_names():
    door = door_of("0.0.0.0", 8000)
    assert door.admits_host("192.168.1.7:8000")
    assert not door.admits_host("evil.example:8000")


def test_a_proxy_is_admitted_by_its_name_at_any_port():
    door = door_of("127.0.0.1", 8000, ("puzzles.example",))
    assert door.admits_host("puzzles.example")
    assert door.admits_origin("https://puzzles.example")


def test_loopback_is_known():
    assert [is_loopback(host) for host in ("localhost", "127.0.0.1", "127.9.9.9", "::1")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.7", "example.org")] == [False] * 4
