# SPDX-License-Identifier: Apache-2.0
"""h2.py - HTTP/2 by hand, for what no client would say (RFC 9113, RFC 7541)"""
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload):
    return (struct.pack(">I", len(payload))[1:] +
            struct.pack(">BBI", kind, flags, stream) + payload)


def literal(index, value):
    """HPACK: a literal with incremental indexing, of an indexed name."""
    n = len(value)
    out = bytes([0x40 | index])
    if n < 127:
        return out + bytes([n]) + value
    n -= 127
    out += b"\x7f"
    while n >= 128:
        out += bytes([n % 128 | 128])
        n //= 128
    return out + bytes([n]) + value
