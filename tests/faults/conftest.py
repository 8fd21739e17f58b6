"""The server that all fault tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fault_checks import warm_up
from fault_injection import Server, unavailable


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    scratch = tmp_path_factory.mktemp("faults")
    reason = unavailable(scratch)
    if reason:
        pytest.skip(reason)
    server = Server(scratch)
    try:
        warm_up(server, scratch / "warm")
        yield server
    finally:
        server.close()
