"""RouterOS-api (PyPI) against a running device."""

import sys

import routeros_api
from routeros_api.exceptions import RouterOsApiCommunicationError, RouterOsApiConnectionError

HOST, PORT = sys.argv[1], int(sys.argv[2])


def pool(username="admin", password=""):
    return routeros_api.RouterOsApiPool(
        HOST, username=username, password=password, port=PORT, plaintext_login=True
    )


def expect(found, expected):
    assert found == expected, f"found {found!r}\nexpected {expected!r}"


def refused(call, words):
    """The call fails with these words."""
    try:
        found = call()
    except (RouterOsApiCommunicationError, RouterOsApiConnectionError) as error:
        assert words in str(error), f"{error} has not {words!r}"
        return
    raise AssertionError(f"not refused: {found!r}")


connection = pool()
api = connection.get_api()

queues = api.get_resource("/queue/simple")
queues.add(name="one", target="10.0.0.1/32", max_limit="10M/20M")
queues.add(name="two", target="10.0.0.2/32")
expect([queue["name"] for queue in queues.get()], ["one", "two"])
one = queues.get(name="one")
expect(len(one), 1)
expect(one[0]["max-limit"], "10000000/20000000")
expect(one[0]["disabled"], "false")
queues.set(id=one[0]["id"], max_limit="1M/1M", disabled="yes")
expect(queues.get(name="one")[0]["max-limit"], "1000000/1000000")
expect(queues.get(name="one")[0]["disabled"], "true")
two = queues.get(name="two")[0]["id"]
queues.call("move", {"numbers": two, "destination": one[0]["id"]})
expect([queue["name"] for queue in queues.get()], ["two", "one"])
expect(queues.get(name="nobody"), [])

# Several commands at once: they differ by their tags.
promises = [queues.call_async("print", queries={"name": name}) for name in ("one", "two")]
expect([promise.get()[0]["name"] for promise in promises], ["one", "two"])
several = queues.call("print", {"proplist": "name"})
expect(sorted(queue["name"] for queue in several), ["one", "two"])

refused(lambda: queues.add(name="one", target="10.0.0.3/32"), "already have")
refused(lambda: queues.set(id="*FFFFF", name="x"), "no such item")
refused(lambda: queues.add(nmae="x"), "unknown parameter")
refused(lambda: pool(password="wrong").get_api(), "invalid user name or password (6)")

identity = api.get_resource("/system/identity")
expect(identity.get()[0]["name"], "dut")
binary = api.get_binary_resource("/").call("system/identity/print")
expect(binary[0]["name"], b"dut")

for queue in queues.get():
    queues.remove(id=queue["id"])
expect(queues.get(), [])
connection.disconnect()
print("RouterOS-api: all well")
