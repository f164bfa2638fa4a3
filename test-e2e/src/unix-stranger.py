"""A stranger at the soft device's meeting point: a sequenced-packet socket in the abstract name space.

usage: unix-stranger.py NAME CONNECTIONS
Sends to NAME (without its leading zero byte) packets that mean nothing, over that many connections, and prints how
many packets were taken and how many connections the other side ended.
"""

import json
import os
import socket
import sys

name, connections = sys.argv[1], int(sys.argv[2])
PACKETS = [
    b"",
    b"\0",
    b"\xff" * 7,
    b"\0" * 64,
    b"\xff" * 64,
    os.urandom(64),
    os.urandom(4096),
    b"\xff" * 100_000,
]
sent = ended = 0
for index in range(connections):
    stranger = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stranger.settimeout(5)
    stranger.connect("\0" + name)
    for packet in PACKETS[index % len(PACKETS):] + PACKETS[: index % len(PACKETS)]:
        try:
            # A descriptor it did not ask for, on every second packet.
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, (2).to_bytes(4, sys.byteorder) * 2)]
            stranger.sendmsg([packet], rights if sent % 2 else [])
            sent += 1
        except (BrokenPipeError, ConnectionResetError):
            break
    try:
        stranger.shutdown(socket.SHUT_WR)
        while stranger.recv(65536):
            pass
        ended += 1
    except (ConnectionResetError, BrokenPipeError):
        ended += 1
    except socket.timeout:
        pass
    stranger.close()
print(json.dumps({"sent": sent, "ended": ended}))
