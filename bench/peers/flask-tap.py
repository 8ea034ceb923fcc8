"""Checks a tap and keeps nothing, as sdm-backend does: Flask and pycryptodome, under gunicorn.

The same checks of the same URL as the daemon's: the chip's key is derived, PICCData decrypted, the MAC compared.
Source: NXP AN12196 s3.3 and s3.4.4, AN10922 s2.2.
"""

import os
from hmac import compare_digest

from flask import Flask, jsonify, request

try:
    from Cryptodome.Cipher import AES
    from Cryptodome.Hash import CMAC
except ImportError:
    # As pip calls the package that Debian has under the name above.
    from Crypto.Cipher import AES
    from Crypto.Hash import CMAC

META_READ_KEY = bytes.fromhex(os.environ["TAPCHIP_BENCH_META_READ_KEY"])
FILE_READ_KEY = bytes.fromhex(os.environ["TAPCHIP_BENCH_FILE_READ_KEY"])
UID_AND_COUNTER = 0xC7

app = Flask(__name__)


def cmac(key, message):
    return CMAC.new(key, message, ciphermod=AES).digest()


def doubled(block):
    """In GF(2^128), as CMAC makes its subkeys."""
    number = int.from_bytes(block, "big") << 1
    if block[0] & 0x80:
        number ^= 0x87
    return (number & (1 << 128) - 1).to_bytes(16, "big")


def key_of_chip(uid):
    """AN10922: a CMAC whose message is always padded to two blocks."""
    k2 = doubled(doubled(AES.new(FILE_READ_KEY, AES.MODE_ECB).encrypt(bytes(16))))
    padded = (b"\x01" + uid + b"\x80").ljust(32, b"\x00")
    last = bytes(a ^ b for a, b in zip(padded[16:], k2))
    return AES.new(FILE_READ_KEY, AES.MODE_CBC, iv=bytes(16)).encrypt(padded[:16] + last)[16:]


@app.get("/chips/find")
def find():
    try:
        encrypted = bytes.fromhex(request.args["e"])
        mac = bytes.fromhex(request.args["c"])
        plain = AES.new(META_READ_KEY, AES.MODE_CBC, iv=bytes(16)).decrypt(encrypted)
    except ValueError:
        return jsonify(error="e and c are hex digits"), 400
    if plain[0] != UID_AND_COUNTER:
        return jsonify(error="this is no tap"), 400
    uid, counter = plain[1:8], plain[8:11]
    session = cmac(key_of_chip(uid), b"\x3c\xc3\x00\x01\x00\x80" + uid + counter)
    covered = f"d={request.args.get('d', '')}&e={request.args['e']}&c="
    if not compare_digest(cmac(session, covered.encode())[1::2], mac):
        return jsonify(error="the MAC is wrong"), 400
    return jsonify(uid=uid.hex().upper(), counter=int.from_bytes(counter, "little"), isValidMac=True)
