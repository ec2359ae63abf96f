"""Who may look from where: this machine alone by default; others through a proxy that says who each visitor is."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from workbench.errors import WorkbenchError

THIS_MACHINE = "127.0.0.1"
LOCAL_NAMES = ("localhost", THIS_MACHINE)  # what a browser of this machine calls it, also through a tunnel
NO_USER = "The workbench opens through its proxy alone, which says who you are. Open the proxy's address."
INSECURE = (
    "WARNING: --insecure. Address, token and private records cross the network in the clear, and nothing says who a visitor is. EVERYBODY "
    "who learns the token can look at private records and start runs."
)
NO_AUTHENTICATION = (
    "Expected a way to know who looks, as {host} is open to other machines, got none. Put an authenticating proxy before the pages and "
    "name the header in which it says who a visitor is (--users-from), or say --insecure."
)


@dataclass(frozen=True)
class Access:
    """Where the pages listen, and whom they show private records.

    `host` is the address that they listen on, `names` what browsers may call it. `header`, where it is not empty, is the one in which an
    authenticating proxy at one of the addresses `proxies` says who a visitor is; only `holders` are then shown anything private. Without
    it, whoever has the token is the data holder.
    """

    host: str = THIS_MACHINE
    names: Sequence[str] = ()
    header: str = ""
    proxies: Sequence[str] = (THIS_MACHINE,)
    holders: Sequence[str] = ()
    insecure: bool = False

    def check(self) -> None:
        """Refuse what would open private records to a network without knowing who looks, and what contradicts itself."""
        for address in (self.host, *self.proxies):
            _address(address)
        if not self.is_local and not self.header and not self.insecure:
            raise WorkbenchError(NO_AUTHENTICATION.format(host=self.host))
        if self.insecure and (self.header or self.is_local):
            raise WorkbenchError("Expected --insecure with --host alone, to listen to other machines without a proxy.")
        if self.holders and not self.header:
            raise WorkbenchError("Expected --users-from beside --data-holder: without a proxy nothing says who a visitor is.")
        if self.header and not self.holders:
            raise WorkbenchError("Expected at least one --data-holder beside --users-from: nobody could see or start anything.")
        if not self.names and (self.header or _address(self.host).is_unspecified):
            raise WorkbenchError("Expected the name by which browsers open the pages or their proxy, got none. Give it as --name.")

    @property
    def is_local(self) -> bool:
        """Whether nobody but this machine can reach it."""
        return _address(self.host).is_loopback

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names that requests may be sent to."""
        return tuple(self.names) or (LOCAL_NAMES if self.is_local else (self.host,))

    def stranger(self, connection: HTTPConnection) -> str:
        """Why a request comes from nobody that is known: past the proxy, or without a name. Empty where it is known, or nobody asks."""
        if not self.header:
            return ""
        peer, users = connection.client, connection.headers.getlist(self.header)
        known = peer is not None and any(_address(peer.host) == _address(proxy) for proxy in self.proxies)
        return "" if known and len(users) == 1 and users[0].strip() else NO_USER

    def shows_private(self, user: str | None) -> bool:
        """Whether a visitor whom the proxy calls `user` may see private records and start work."""
        return not self.header or (user or "").strip() in self.holders


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise WorkbenchError(f"Expected an IP address of this machine or of the proxy, got {text!r}.") from None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address
