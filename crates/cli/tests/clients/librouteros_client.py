"""librouteros against a running device: what its users do all day."""

import sys
import time

from librouteros import connect
from librouteros.exceptions import LibRouterosError, TrapError
from librouteros.query import And, Key, Or

HOST, PORT = sys.argv[1], int(sys.argv[2])


def login(username="admin", password=""):
    return connect(host=HOST, port=PORT, username=username, password=password, timeout=20)


def expect(found, expected):
    assert found == expected, f"found {found!r}\nexpected {expected!r}"


def refused(call, words):
    """The call fails with these words."""
    try:
        found = call()
    except LibRouterosError as error:
        assert words in str(error), f"{error} has not {words!r}"
        return
    raise AssertionError(f"not refused: {found!r}")


api = login()
address = api.path("ip", "address")
ident, interface, network = Key(".id"), Key("interface"), Key("address")

# add, print, set, remove
first = address.add(address="10.77.0.1/24", interface="ether1")
second = address.add(address="10.77.1.1/24", interface="ether2", comment="two words = one")
assert first.startswith("*") and second.startswith("*") and first != second
row = {item[".id"]: item for item in address}[second]
expect(row["address"], "10.77.1.1/24")
expect(row["network"], "10.77.1.0")
expect(row["comment"], "two words = one")
expect((row["disabled"], row["dynamic"]), (False, False))
address.update(**{".id": second, "disabled": True})
address.update(**{".id": second, "comment": ""})

# queries
found = list(address.select(ident, network).where(interface == "ether2"))
expect(found, [{".id": second, "address": "10.77.1.1/24"}])
found = list(address.select(network).where(Or(interface == "ether1", interface == "ether2")))
expect([item["address"] for item in found], ["10.77.0.1/24", "10.77.1.1/24"])
found = list(address.select(network).where(And(interface == "ether2", Key("disabled") == True)))  # noqa: E712
expect([item["address"] for item in found], ["10.77.1.1/24"])
expect(list(address.select(network).where(interface == "no such")), [])
expect(list(address.select(network).where(interface.In("ether2", "ether9"))), found)

# the order of rules
rules = api.path("ip", "firewall", "filter")
ids = [rules.add(chain="forward", action="accept", protocol=p) for p in ("tcp", "udp", "icmp")]
tuple(rules("move", numbers=ids[2], destination=ids[0]))
shown = [item["protocol"] for item in rules.select(Key("protocol")) if "protocol" in item]
expect(shown, ["icmp", "tcp", "udp"])
expect([item.get("packets") for item in rules][0], 0)
rules.remove(*ids)
expect(list(rules), [])

# what is refused, and how
refused(lambda: address.add(address="10.77.2.1/24"), "missing value(s) of argument(s) interface")
refused(lambda: address.add(adress="10.77.2.1/24", interface="ether1"), "unknown parameter")
refused(
    lambda: address.add(address="10.77.2.1/24", interface="ether99"),
    "input does not match any value of interface",
)
refused(lambda: address.remove("*FFFFF"), "no such item")
refused(lambda: tuple(api("/no/such/print")), "no such command")
refused(lambda: login(password="wrong"), "invalid user name or password (6)")
refused(lambda: login(username="nobody"), "invalid user name or password (6)")
# Two connections failed; this one goes on.
expect([item["name"] for item in api("/system/identity/print")], ["dut"])

# a user who may only look
users = api.path("user")
noc = users.add(name="noc", group="read", password="s3cret")
looker = login("noc", "s3cret")
expect(len(list(looker.path("ip", "address"))), 2)
refused(lambda: looker.path("ip", "address").remove(first), "not enough permissions (9)")
assert not any("password" in user for user in users)
looker.close()
users.remove(noc)

# listen: one connection hears what another one does. Its calls wait for the end of a command, so
# this is said a sentence at a time.
listener = login()
listener.protocol.writeSentence("/ip/address/listen")
time.sleep(1)
address.update(**{".id": first, "comment": "heard"})
kind, words = listener.readSentence()
expect((kind, words[".id"], words["comment"]), ("!re", first, "heard"))
address.remove(second)
expect(listener.readSentence(), ("!re", {".id": second, ".dead": True}))
listener.protocol.writeSentence("/cancel")
kind, words = listener.readSentence()
expect((kind, words["message"]), ("!trap", "interrupted"))
expect([listener.readSentence()[0] for _ in range(2)], ["!done", "!done"])
listener.close()

address.remove(first)
expect(list(address), [])
try:
    api.close()
except TrapError:
    pass
print("librouteros: all well")
