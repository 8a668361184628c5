# Routing with 25 simple queues: the row "25 simple queues" of the performance tables.
#
# Each queue is one client's: every packet of the test, there and back, is found by its client's
# address, counted, and paid for from a token bucket. The limit is 100 Gbit/s each way and client,
# more than memory carries: the queues are never full and never delay, but every packet is weighed.
/ip address
add address=198.18.0.1/24 interface=ether1
add address=198.19.0.1/24 interface=ether2
/queue simple
add name=client101 target=198.18.0.101/32 max-limit=100G/100G
add name=client102 target=198.18.0.102/32 max-limit=100G/100G
add name=client103 target=198.18.0.103/32 max-limit=100G/100G
add name=client104 target=198.18.0.104/32 max-limit=100G/100G
add name=client105 target=198.18.0.105/32 max-limit=100G/100G
add name=client106 target=198.18.0.106/32 max-limit=100G/100G
add name=client107 target=198.18.0.107/32 max-limit=100G/100G
add name=client108 target=198.18.0.108/32 max-limit=100G/100G
add name=client109 target=198.18.0.109/32 max-limit=100G/100G
add name=client110 target=198.18.0.110/32 max-limit=100G/100G
add name=client111 target=198.18.0.111/32 max-limit=100G/100G
add name=client112 target=198.18.0.112/32 max-limit=100G/100G
add name=client113 target=198.18.0.113/32 max-limit=100G/100G
add name=client114 target=198.18.0.114/32 max-limit=100G/100G
add name=client115 target=198.18.0.115/32 max-limit=100G/100G
add name=client116 target=198.18.0.116/32 max-limit=100G/100G
add name=client117 target=198.18.0.117/32 max-limit=100G/100G
add name=client118 target=198.18.0.118/32 max-limit=100G/100G
add name=client119 target=198.18.0.119/32 max-limit=100G/100G
add name=client120 target=198.18.0.120/32 max-limit=100G/100G
add name=client121 target=198.18.0.121/32 max-limit=100G/100G
add name=client122 target=198.18.0.122/32 max-limit=100G/100G
add name=client123 target=198.18.0.123/32 max-limit=100G/100G
add name=client124 target=198.18.0.124/32 max-limit=100G/100G
add name=client125 target=198.18.0.125/32 max-limit=100G/100G
