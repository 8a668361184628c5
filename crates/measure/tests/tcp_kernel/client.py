"""Opens connections, asks and reads on each, looks at every byte, closes.

Prints how many were opened, and how many bytes were sent and received in all.
"""

import socket
import sys
import threading

connections, at_a_time, times, request, response = map(int, sys.argv[1:6])

# The content that hosts of ours send: crates/measure/src/tcp/content.rs, written again.
pattern, state = bytearray(), 0x2545F491
for _ in range(4093):
    state ^= state << 13 & 0xFFFFFFFF
    state ^= state >> 17
    state ^= state << 5 & 0xFFFFFFFF
    pattern.append(state >> 11 & 0xFF)

lock, totals, wrong = threading.Lock(), [0, 0, 0], []


def read(one, n):
    """So many bytes, fewer if the other end closes."""
    parts = []
    while n > 0 and (part := one.recv(min(n, 1 << 16))):
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def talk(share):
    for _ in range(share):
        with socket.create_connection(("10.0.0.2", 80), timeout=60) as one:
            stream = b""
            for _ in range(times):
                one.sendall(bytes(request))
                stream += read(one, response)
            one.shutdown(socket.SHUT_WR)
            rest = one.recv(1)
        # It may begin anywhere in the pattern, and then goes on in it.
        repeated = bytes(pattern) * (len(stream) // len(pattern) + 2)
        right = len(stream) == times * response and stream in repeated and not rest
        with lock:
            totals[0] += 1
            totals[1] += times * request
            totals[2] += len(stream)
            if not right:
                wrong.append((len(stream), stream[:20], rest))


threads = [
    threading.Thread(target=talk, args=(connections // at_a_time,)) for _ in range(at_a_time)
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong[:3]
print(*totals)
