"""Attacks by imports: addresses of machines that the caller cannot reach itself."""

from __future__ import annotations

INSIDE = {
    "loopback": "127.0.0.1",
    "all of loopback": "127.8.9.10",
    "IPv6 loopback": "[::1]",
    "unspecified": "0.0.0.0",
    "IPv6 unspecified": "[::]",
    "link-local, where clouds tell secrets": "169.254.169.254",
    "IPv6 link-local": "[fe80::1]",
    "private, class A": "10.0.0.1",
    "private, class B": "172.31.255.255",
    "private, class C": "192.168.1.1",
    "shared by a provider": "100.64.0.1",
    "IPv6 private": "[fd00::1]",
    "IPv6 site-local": "[fec0::1]",
    "multicast": "224.0.0.1",
    "IPv6 multicast": "[ff02::1]",
    "IPv6 multicast for all": "[ff0e::1]",
    "broadcast": "255.255.255.255",
    "reserved": "240.0.0.1",
    "for documents": "192.0.2.1",
    "mapped loopback": "[::ffff:127.0.0.1]",
    "mapped private": "[::ffff:10.0.0.1]",
    "mapped in hexadecimal": "[::ffff:7f00:1]",
    "compatible loopback": "[::127.0.0.1]",
    "translated loopback": "[64:ff9b::127.0.0.1]",
    "translated private": "[64:ff9b::a00:1]",
    "translated by a network of one's own": "[64:ff9b:1::808:808]",
    "6to4 private": "[2002:a00:1::1]",
    "Teredo": "[2001:0:a00:1::f5ff:fffe]",
    "a name of this machine": "localhost",
    "a name below it": "git.localhost",
}
"""Hosts as they stand in an address, and what they are."""
SPELLED_ODDLY = ("2130706433", "0x7f.1", "127.1", "0177.0.0.1")
"""The loopback address as the system's resolver reads it."""
OUTSIDE = ("93.184.216.34", "[2606:2800:220:1:248:1893:25c8:1946]", "git.example.com")
