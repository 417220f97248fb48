# SPDX-License-Identifier: Apache-2.0
"""Where acd is: its unix socket, or an address with a token."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from .errors import ConfigError


@dataclass(frozen=True)
class Where:
    """A place of acd. The token is in no representation of it."""

    url: str
    socket: str | None = None
    token: str | None = field(default=None, repr=False)
    home: Path | None = None

    @property
    def local(self) -> bool:
        """True at the unix socket, whose owner may do everything."""
        return self.socket is not None


def home_of(env: Mapping[str, str]) -> Path:
    """Returns AC_HOME, or what stands for it if it is not set."""
    if env.get("AC_HOME"):
        home = Path(env["AC_HOME"])
        if not home.is_absolute():
            raise ConfigError("AC_HOME is not an absolute path")
        return home
    data = env.get("XDG_DATA_HOME", "")
    base = Path(data) if data.startswith("/") else Path.home() / ".local/share"
    return base / "ac"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_url(url: str, insecure: bool) -> str:
    """Returns @url without what no request needs. Raises ConfigError."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise ConfigError("the URL of the API cannot be read") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigError("the URL of the API has a name or password in it")
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError("the URL of the API is not http(s)://HOST[:PORT]")
    if parts.query or parts.fragment or parts.path not in ("", "/", "/v1"):
        raise ConfigError("the URL of the API has more than a host and a port")
    if parts.scheme == "http" and not insecure and not _is_loopback(host):
        raise ConfigError(
            "the token would be sent in plain text beyond this machine: "
            "use https, or insecure=True"
        )
    return f"{parts.scheme}://{parts.netloc}"


def where_from(
    url: str | None = None,
    token: str | None = None,
    home: str | os.PathLike[str] | None = None,
    insecure: bool = False,
    env: Mapping[str, str] | None = None,
) -> Where:
    """Returns the place that is meant: @url or @home, else what AC_API_URL or
    AC_HOME say. Raises ConfigError."""
    env = os.environ if env is None else env
    if url is not None and home is not None:
        raise ConfigError("url and home exclude each other")
    if url is None and home is None:
        url = env.get("AC_API_URL") or None
    if url is None:
        if token is not None:
            raise ConfigError("a token is for a URL: the socket needs none")
        place = Path(os.path.abspath(home)) if home else home_of(env)
        return Where(
            "http://localhost", str(place / "run/acd.sock"), None, place
        )
    url = _check_url(url, insecure)
    token = token or env.get("AC_API_TOKEN") or None
    if token is None:
        raise ConfigError("there is no token: `ac token add`, and AC_API_TOKEN")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError("the token has characters that no token has")
    return Where(url, None, token, None)
