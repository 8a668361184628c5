"""Every frame of a capture, taken apart by scapy and built again with its lengths and checksums
computed anew: the same bytes, or it says which. Prints a line for each: its layers, and the fields of
the first layer of each kind, by the names that plans have for them."""

import ipaddress
import logging
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import (  # noqa: E402
    ARP,
    GRE,
    ICMP,
    IP,
    TCP,
    UDP,
    Dot1AD,
    Dot1Q,
    Ether,
    ICMPv6EchoRequest,
    IPv6,
    rdpcap,
)
from scapy.contrib.mpls import MPLS, EoMCW  # noqa: E402

# What stands in payloads is nobody's protocol, whatever the ports are.
UDP.payload_guess = []
TCP.payload_guess = []


def address(text):
    return int(ipaddress.ip_address(text))


def tag(layer):
    return {"pcp": layer.prio, "vid": layer.vlan}


# What is computed anew, and which fields are shown, under which header's name.
LAYERS = {
    Dot1Q: ("vlan", [], tag),
    Dot1AD: ("svlan", [], tag),
    MPLS: ("mpls", [], lambda of: {"label": of.label, "tc": of.cos, "s": of.s, "ttl": of.ttl}),
    EoMCW: ("cw", [], lambda of: {"sequence": of.seq}),
    ARP: (
        "arp",
        ["hwlen", "plen"],
        lambda of: {"op": of.op, "spa": address(of.psrc), "tpa": address(of.pdst)},
    ),
    IP: (
        "ipv4",
        ["len", "chksum", "ihl"],
        lambda of: {
            "dscp": of.tos >> 2,
            "ecn": of.tos & 3,
            "id": of.id,
            "ttl": of.ttl,
            "src": address(of.src),
            "dst": address(of.dst),
        },
    ),
    IPv6: (
        "ipv6",
        ["plen"],
        lambda of: {
            "traffic-class": of.tc,
            "flow-label": of.fl,
            "hop-limit": of.hlim,
            "src": address(of.src),
            "dst": address(of.dst),
        },
    ),
    ICMP: ("icmp", ["chksum"], lambda of: {"id": of.id, "seq": of.seq}),
    ICMPv6EchoRequest: ("icmpv6", ["cksum"], lambda of: {"id": of.id, "seq": of.seq}),
    UDP: ("udp", ["len", "chksum"], lambda of: {"src": of.sport, "dst": of.dport}),
    TCP: (
        "tcp",
        ["chksum", "dataofs"],
        lambda of: {
            "src": of.sport,
            "dst": of.dport,
            "seq": of.seq,
            "ack": of.ack,
            "flags": int(of.flags),
            "window": of.window,
            "urgent": of.urgptr,
        },
    ),
    GRE: ("gre", [], lambda of: {"type": of.proto}),
}

for number, frame in enumerate(rdpcap(sys.argv[1])):
    raw = bytes(frame.original)
    again = Ether(raw)
    names, fields = [], {}
    layer = again
    while layer:
        names.append(type(layer).__name__)
        for kind, (header, computed, show) in LAYERS.items():
            if type(layer) is kind:
                for name, value in show(layer).items():
                    fields.setdefault(f"{header}.{name}", value)
                # A datagram over IPv4 may go without a checksum.
                if kind is UDP and not layer.chksum:
                    computed = ["len"]
                for name in computed:
                    delattr(layer, name)
        layer = layer.payload
    built = bytes(again)
    assert built == raw, f"frame {number}: {again!r}\n{raw.hex()}\n{built.hex()}"
    print("/".join(names), *(f"{name}={value}" for name, value in fields.items()))
