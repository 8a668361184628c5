# IPv6 routing with 25 simple queues: the row "25 simple queues" of the performance tables, by IPv6.
#
# Each queue is one client's: every packet of the test, there and back, is found by its client's
# address, counted, and paid for from a token bucket. The limit is 100 Gbit/s each way and client,
# more than memory carries: the queues are never full and never delay, but every packet is weighed.
/ipv6 address
add address=2001:2:0:1::1/64 interface=ether1 advertise=no no-dad=yes
add address=2001:2:0:2::1/64 interface=ether2 advertise=no no-dad=yes
/queue simple
add name=client101 target=2001:2:0:1::101/128 max-limit=100G/100G
add name=client102 target=2001:2:0:1::102/128 max-limit=100G/100G
add name=client103 target=2001:2:0:1::103/128 max-limit=100G/100G
add name=client104 target=2001:2:0:1::104/128 max-limit=100G/100G
add name=client105 target=2001:2:0:1::105/128 max-limit=100G/100G
add name=client106 target=2001:2:0:1::106/128 max-limit=100G/100G
add name=client107 target=2001:2:0:1::107/128 max-limit=100G/100G
add name=client108 target=2001:2:0:1::108/128 max-limit=100G/100G
add name=client109 target=2001:2:0:1::109/128 max-limit=100G/100G
add name=client10a target=2001:2:0:1::10a/128 max-limit=100G/100G
add name=client10b target=2001:2:0:1::10b/128 max-limit=100G/100G
add name=client10c target=2001:2:0:1::10c/128 max-limit=100G/100G
add name=client10d target=2001:2:0:1::10d/128 max-limit=100G/100G
add name=client10e target=2001:2:0:1::10e/128 max-limit=100G/100G
add name=client10f target=2001:2:0:1::10f/128 max-limit=100G/100G
add name=client110 target=2001:2:0:1::110/128 max-limit=100G/100G
add name=client111 target=2001:2:0:1::111/128 max-limit=100G/100G
add name=client112 target=2001:2:0:1::112/128 max-limit=100G/100G
add name=client113 target=2001:2:0:1::113/128 max-limit=100G/100G
add name=client114 target=2001:2:0:1::114/128 max-limit=100G/100G
add name=client115 target=2001:2:0:1::115/128 max-limit=100G/100G
add name=client116 target=2001:2:0:1::116/128 max-limit=100G/100G
add name=client117 target=2001:2:0:1::117/128 max-limit=100G/100G
add name=client118 target=2001:2:0:1::118/128 max-limit=100G/100G
add name=client119 target=2001:2:0:1::119/128 max-limit=100G/100G
