"""Accepts connections, answers each request of so many bytes, closes after the client has.

Prints `ready`, then what was accepted, received and sent in all.
"""

import selectors
import socket
import sys

connections, request, response = map(int, sys.argv[1:4])
listener = socket.create_server(("10.0.0.1", 80), backlog=1024)
listener.setblocking(False)
ready = selectors.DefaultSelector()
ready.register(listener, selectors.EVENT_READ)
print("ready", flush=True)
accepted = closed = received = sent = 0
said = {}  # of each connection: bytes received, bytes that are still to be sent
while closed < connections:
    for key, events in ready.select():
        one = key.fileobj
        if one is listener:
            try:
                one, _ = listener.accept()
            except BlockingIOError:
                continue
            one.setblocking(False)
            accepted += 1
            said[one] = [0, 0]
            ready.register(one, selectors.EVENT_READ)
            continue
        state = said[one]
        if events & selectors.EVENT_READ:
            data = one.recv(1 << 16)
            if not data:
                assert state[1] == 0, "closed before it was answered"
                ready.unregister(one)
                one.close()
                closed += 1
                continue
            received += len(data)
            before = state[0] // request
            state[0] += len(data)
            state[1] += response * (state[0] // request - before)
        try:
            n = one.send(bytes(min(state[1], 1 << 16)))
        except BlockingIOError:
            n = 0
        sent += n
        state[1] -= n
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if state[1] else 0)
        ready.modify(one, events)
print(accepted, received, sent)
