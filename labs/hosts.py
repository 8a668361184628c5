#!/usr/bin/env python3
"""Small servers and clients for the hosts of the labs; each ends when its lab does.

    hosts.py web PORT                  HTTP: /N is N bytes, X-Sha256 their checksum; keeps connections
    hosts.py checksum URL              downloads it with curl: bytes, checksum, and whether it is right
    hosts.py iperf3 ARGUMENTS …        iperf3 as a client: "flows" when it does; its end as JSON
    hosts.py dns OWN PORT NAME=ADDRESS …   answers at its address OWN for these names, NXDOMAIN for others
    hosts.py echo PORT                 TCP: sends back what comes
    hosts.py idle HOST PORT SECONDS    says hello, is silent for that long, says hello again
    hosts.py hear PORT [GROUP]         UDP: prints the first datagram, by broadcast or to a group
    hosts.py say ADDRESS PORT TEXT     UDP: sends one, to a group or a broadcast address too
    hosts.py load SECONDS ADDRESS,ADDRESS…:PORT:MBIT/S …   UDP: sends each address the same
    hosts.py shares SECONDS NAME=ADDRESS … PORT …   UDP: each port's share of what comes, as JSON
    hosts.py pinged SECONDS ADDRESS    how long answers take, in ms, as JSON
    hosts.py ftp OWN ROOT              vsftpd there: everybody may read and write
    hosts.py sip-answer OWN PORT       a telephone: takes a call, says what the caller is, talks and listens
    hosts.py sip-call OWN PORT HOST    another: calls it (its port is 5060)
    hosts.py disconnect HOST SECRET USER   RADIUS: wants a user's session to end, says what is answered
"""

import asyncio
import hashlib
import json
import resource
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import time

# As many connections as the system lets us have.
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

BLOCK = 1 << 20


def blocks(length):
    """A file of that length: no two of its blocks are alike."""
    base = hashlib.shake_128(b"wirespeed").digest(BLOCK - 8)
    for number in range(0, -(-length // BLOCK)):
        yield (struct.pack(">Q", number) + base)[: length - number * BLOCK]


def checksum(length):
    digest = hashlib.sha256()
    for block in blocks(length):
        digest.update(block)
    return digest.hexdigest()


async def answer(reader, writer):
    try:
        while line := await reader.readline():
            path = line.split()[1].decode().lstrip("/")
            while (await reader.readline()).strip():
                pass
            length = int(path or 0)
            head = "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n" % length
            if length > 65536:
                head += "X-Sha256: %s\r\n" % checksum(length)
            writer.write(head.encode() + b"\r\n")
            for block in blocks(length):
                writer.write(block)
                await writer.drain()
    except (ConnectionError, ValueError, IndexError):
        pass
    writer.close()


async def echo(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def serve(handler, port):
    server = await asyncio.start_server(handler, None, int(port), backlog=8192)
    print("ready", flush=True)
    await server.serve_forever()


def download(url):
    curl = subprocess.Popen(["curl", "-s", "-D", "-", url], stdout=subprocess.PIPE)
    promised, length, digest = "", 0, hashlib.sha256()
    while header := curl.stdout.readline().strip():
        if header.lower().startswith(b"x-sha256:"):
            promised = header.split()[1].decode()
    while data := curl.stdout.read(BLOCK):
        length += len(data)
        digest.update(data)
    is_right = curl.wait() == 0 and digest.hexdigest() == promised
    print(length, "bytes", digest.hexdigest(), "right" if is_right else "WRONG", flush=True)
    sys.exit(0 if is_right else 1)


def passed():
    """Bytes that have passed this host's interfaces."""
    with open("/proc/net/dev") as lines:
        counters = [line.split(":")[1].split() for line in lines if ":" in line]
    return sum(int(words[0]) + int(words[8]) for words in counters)


def iperf3(*arguments):
    before, words = passed(), ["iperf3", "-J", "-i", "0", *arguments]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    # More than its own messages: it sends, or is sent to.
    while run.poll() is None and passed() - before < 100_000:
        time.sleep(0.01)
    print("flows", flush=True)
    result = json.loads(run.communicate()[0])
    if "error" in result:
        sys.exit(result["error"])
    end = result["end"]
    total = end.get("sum_received") or end["sum"]
    if "packets" in total:
        received = total["packets"] - total["lost_packets"]
        shown = {
            "packets_per_second": round(received / total["seconds"]),
            "lost_percent": round(total["lost_percent"], 3),
            "length": result["start"]["test_start"]["blksize"],
        }
    else:
        shown = {
            "mbit_per_second": round(total["bits_per_second"] / 1e6, 1),
            "retransmits": end["sum_sent"].get("retransmits"),
        }
    print(json.dumps(shown), flush=True)


def dns(own, port, *names):
    known = dict(name.split("=") for name in names)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((own, int(port)))
    print("ready", flush=True)
    while True:
        query, client = sock.recvfrom(4096)
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode())
            at += 1 + query[at]
        question = query[12 : at + 5]
        address = known.get(".".join(labels))
        # A response, authoritative, recursion available; NXDOMAIN if we do not know it.
        flags = 0x8580 | (0 if address else 3)
        reply = query[:2] + struct.pack(">5H", flags, 1, 1 if address else 0, 0, 0) + question
        if address:
            reply += struct.pack(">HHHIH", 0xC00C, 1, 1, 60, 4) + socket.inet_aton(address)
        sock.sendto(reply, client)


def idle(host, port, seconds):
    sock = socket.create_connection((host, int(port)), timeout=20)
    for text in (b"hello", b"hello again"):
        sock.sendall(text)
        print(sock.recv(100).decode(), flush=True)
        if text == b"hello":
            time.sleep(float(seconds))


def hear(port, group=None):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("", int(port)))
    if group:
        request = socket.inet_aton(group) + socket.inet_aton("0.0.0.0")
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
    print("ready", flush=True)
    data, (sender, _) = sock.recvfrom(2048)
    print("from", sender, data.decode(), flush=True)


def say(address, port, text):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 4)
    sock.sendto(text.encode(), (address, int(port)))


def load(seconds, *streams):
    """Sends UDP by ADDRESS,ADDRESS…:PORT:MBIT/S, the same datagram to each address, for so long."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    payload, begin, plan = bytes(1222), time.monotonic(), []
    for stream in streams:
        addresses, port, mbit = stream.split(":")
        to = [(address, int(port)) for address in addresses.split(",")]
        plan.append([0.0, 1250 * 8 / float(mbit) / 1e6, to])
    while (now := time.monotonic() - begin) < float(seconds):
        for stream in plan:
            while stream[0] <= now:
                stream[0] += stream[1]
                for to in stream[2]:
                    out.sendto(payload, to)
        time.sleep(0.0005)


def shares(seconds, *what):
    """NAME=ADDRESS … PORT …: what share of what comes to an address each port has, from a second
    after the first datagram on; how many Mbit/s that is; and how far the names are apart at most."""
    names = [word.split("=") for word in what if "=" in word]
    ports = [word for word in what if "=" not in word]
    waits, count = selectors.DefaultSelector(), {}
    for name, address in names:
        for port in ports:
            own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            own.bind((address, int(port)))
            waits.register(own, selectors.EVENT_READ, (name, port))
            count[name, port] = 0
    print("ready", flush=True)
    waits.select()
    begin = time.monotonic()
    while (now := time.monotonic() - begin) < 1 + float(seconds):
        for key, _ in waits.select(0.1):
            got = len(key.fileobj.recv(2048))
            if now >= 1:
                count[key.data] += got + 28
    shown, apart = {}, 0
    for name, _ in names:
        total = sum(count[name, port] for port in ports) or 1
        shown[name] = {port: round(count[name, port] / total, 4) for port in ports}
        shown[name]["mbit"] = round(total * 8 / float(seconds) / 1e6, 2)
    for port in ports:
        of = [shown[name][port] for name, _ in names]
        apart = max(apart, round(max(of) - min(of), 4))
    print(json.dumps({**shown, "apart": apart}), flush=True)


def pinged(seconds, address):
    """How long answers take: the median, and the slowest of a hundred, in ms."""
    words = ["ping", "-n", "-i", "0.02", "-w", seconds, address]
    text = subprocess.run(words, stdout=subprocess.PIPE, text=True).stdout
    times = sorted(float(word[5:]) for word in text.split() if word.startswith("time="))
    if not times:
        sys.exit("no answers")
    shown = {"median_ms": times[len(times) // 2], "p99_ms": times[len(times) * 99 // 100]}
    print(json.dumps({**shown, "answers": len(times)}), flush=True)


def ftp(own, root):
    """One that knows neither translations nor who asks: what it says is what routers have to mend."""
    settings = {
        "listen": "YES",
        "listen_address": own,
        "anonymous_enable": "YES",
        "anon_root": root,
        "write_enable": "YES",
        "anon_upload_enable": "YES",
        "allow_writeable_chroot": "YES",
        "no_anon_password": "YES",
        "run_as_launching_user": "YES",
        "secure_chroot_dir": root,
        "seccomp_sandbox": "NO",
        "connect_from_port_20": "YES",
    }
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.writelines("%s=%s\n" % setting for setting in settings.items())
        file.flush()
        server = subprocess.Popen(["vsftpd", file.name])
        until_it_listens(own, 21)
    server.wait()


def until_it_listens(host, port):
    for _ in range(200):
        try:
            socket.create_connection((host, port), timeout=1).close()
            return print("ready", flush=True)
        except OSError:
            time.sleep(0.05)
    sys.exit("nobody listens")


class Telephone:
    """What two ends of a call have in common: SIP and voice by UDP, and nothing heard of NAT."""

    def __init__(self, own, port, voice):
        self.own, self.port, self.voice_port = own, int(port), voice
        self.sip = self.bound(self.port)
        self.voice = self.bound(voice)

    def bound(self, port):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind((self.own, port))
        sock.settimeout(20)
        return sock

    def message(self, first, number, method, body=True):
        sdp = [
            "v=0",
            "o=- 1 1 IN IP4 " + self.own,
            "s=-",
            "c=IN IP4 " + self.own,
            "t=0 0",
            "m=audio %d RTP/AVP 0" % self.voice_port,
        ]
        sdp = "\r\n".join(sdp) + "\r\n" if body else ""
        place = "%s:%d" % (self.own, self.port)
        lines = [
            first,
            "Via: SIP/2.0/UDP %s;branch=z9hG4bK%d" % (place, number),
            "From: <sip:caller@example.com>;tag=1",
            "To: <sip:called@example.com>;tag=2",
            "Call-ID: 1@example.com",
            "CSeq: %d %s" % (number, method),
            "Contact: <sip:phone@%s>" % place,
            "Content-Type: application/sdp",
            "Content-Length: %d" % len(sdp),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n" + sdp).encode()

    @staticmethod
    def read(message):
        """Who it says it is, and where its voice is."""
        lines = message.decode().split("\r\n")
        after = lambda begins: next((line[len(begins):] for line in lines if line.startswith(begins)), "")
        return after("Contact: "), (after("c=IN IP4 "), int((after("m=audio ") or "0").split()[0]))

    def talk(self, to, text):
        """Says something until the other end is heard."""
        self.voice.settimeout(0.2)
        for _ in range(100):
            self.voice.sendto(text, to)
            try:
                heard, came = self.voice.recvfrom(2048)
            except TimeoutError:
                continue
            self.voice.sendto(text, to)
            return "%s from %s" % (heard.decode(), "%s:%d" % came)
        sys.exit("nothing is heard")


def sip_answer(own, port):
    phone = Telephone(own, port, 7078)
    print("ready", flush=True)
    invite, caller = phone.sip.recvfrom(4096)
    contact, voice = phone.read(invite)
    print("call from", contact, "voice at %s:%d" % voice, flush=True)
    phone.sip.sendto(phone.message("SIP/2.0 200 OK", 1, "INVITE"), caller)
    while not phone.sip.recv(4096).startswith(b"ACK"):
        pass
    print("heard", phone.talk(voice, b"the called"), flush=True)
    while not phone.sip.recv(4096).startswith(b"BYE"):
        pass
    phone.sip.sendto(phone.message("SIP/2.0 200 OK", 2, "BYE", False), caller)


def sip_call(own, port, host):
    phone = Telephone(own, port, 9000)
    to = (host, 5060)
    phone.sip.sendto(phone.message("INVITE sip:called@%s SIP/2.0" % host, 1, "INVITE"), to)
    answer = phone.sip.recv(4096)
    contact, voice = phone.read(answer)
    print("answered by", contact, "voice at %s:%d" % voice, flush=True)
    phone.sip.sendto(phone.message("ACK sip:called@%s SIP/2.0" % host, 1, "ACK", False), to)
    print("heard", phone.talk(voice, b"the caller"), flush=True)
    phone.sip.sendto(phone.message("BYE sip:called@%s SIP/2.0" % host, 2, "BYE", False), to)
    print(phone.sip.recv(4096).split(b"\r\n")[0].decode(), flush=True)


def disconnect(host, secret, user):
    """RFC 5176: a Disconnect-Request, proved as an account is (RFC 2866 section 3)."""
    name = struct.pack(">BB", 1, 2 + len(user)) + user.encode()
    head = struct.pack(">BBH", 40, 1, 20 + len(name))
    proof = hashlib.md5(head + bytes(16) + name + secret.encode()).digest()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.settimeout(5)
        own.sendto(head + proof + name, (host, 3799))
        said = own.recv(4096)
    right = hashlib.md5(said[:4] + proof + said[20:] + secret.encode()).digest() == said[4:20]
    print({41: "Disconnect-ACK", 42: "Disconnect-NAK"}.get(said[0]), "right" if right else "wrong")


def main(what, *arguments):
    match what:
        case "web":
            asyncio.run(serve(answer, *arguments))
        case "echo":
            asyncio.run(serve(echo, *arguments))
        case "checksum":
            download(*arguments)
        case "iperf3":
            iperf3(*arguments)
        case "dns":
            dns(*arguments)
        case "idle":
            idle(*arguments)
        case "hear":
            hear(*arguments)
        case "say":
            say(*arguments)
        case "load":
            load(*arguments)
        case "shares":
            shares(*arguments)
        case "pinged":
            pinged(*arguments)
        case "ftp":
            ftp(*arguments)
        case "sip-answer":
            sip_answer(*arguments)
        case "sip-call":
            sip_call(*arguments)
        case "disconnect":
            disconnect(*arguments)
        case _:
            sys.exit(__doc__)


main(*sys.argv[1:] or ["help"])
