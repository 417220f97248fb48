# SPDX-License-Identifier: Apache-2.0
"""hello.py - TLS ClientHellos, made by hand so that they can be wrong

RFC 8446 §4.1.2, §5.1; RFC 6066 §3.
"""
import os
import struct

SNI, GROUPS, SIGNATURES, ALPN, VERSIONS, KEY_SHARE, ECH, EARLY = (
    0, 10, 13, 16, 43, 51, 0xfe0d, 42)


def vec8(data):
    return bytes([len(data)]) + data


def vec16(data):
    return struct.pack("!H", len(data)) + data


def extension(kind, data):
    return struct.pack("!H", kind) + vec16(data)


def sni_entry(name, kind=0):
    return bytes([kind]) + vec16(name)


def sni(*names):
    """The extension with these names, right in form."""
    return extension(SNI, vec16(b"".join(sni_entry(x) for x in names)))


def common(versions=(0x0304, 0x0303)):
    out = [
        extension(GROUPS, vec16(struct.pack("!2H", 0x001d, 0x0017))),
        extension(SIGNATURES, vec16(struct.pack("!3H", 0x0403, 0x0804,
                                                0x0401))),
    ]
    if versions:
        out.append(extension(VERSIONS, vec8(struct.pack(
            "!%dH" % len(versions), *versions))))
    if versions and 0x0304 in versions:
        out.append(extension(KEY_SHARE, vec16(
            struct.pack("!H", 0x001d) + vec16(os.urandom(32)))))
    return out


def message(name=None, names=None, before=(), after=(), legacy=0x0303,
            versions=(0x0304, 0x0303), session=b"\x55" * 32, pad=0):
    """The handshake message; @names: whole SNI extensions instead."""
    exts = list(before)
    if names is not None:
        exts += names
    elif name is not None:
        exts.append(sni(name))
    exts += common(versions) + list(after)
    if pad:
        exts.append(extension(21, bytes(pad)))
    body = (struct.pack("!H", legacy) + os.urandom(32) + vec8(session) +
            vec16(struct.pack("!4H", 0x1301, 0x1302, 0xc02b, 0xc02f)) +
            vec8(b"\0") + vec16(b"".join(exts)))
    return b"\x01" + len(body).to_bytes(3, "big") + body


def record(data, version=0x0301, kind=22):
    return bytes([kind]) + struct.pack("!H", version) + vec16(data)


def records(msg, size, version=0x0301):
    """The message in records of @size bytes each."""
    return b"".join(record(msg[i:i + size], version)
                    for i in range(0, len(msg), size))


def hello(name=None, **how):
    return record(message(name, **how))


def ssl2(name):
    """RFC 5246 E.2: a hello in the old format; it has no room for a name."""
    ciphers, challenge = b"\x00\x00\x2f\x01\x00\x80", os.urandom(16)
    body = (b"\x01\x03\x01" + struct.pack("!3H", len(ciphers), 0,
                                          len(challenge)) +
            ciphers + challenge)
    return struct.pack("!H", 0x8000 | len(body)) + body + name
