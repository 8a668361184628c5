/queue simple
add name=q1 target=10.0.1.0/24 max-limit=1M/2M queue=default/default
add target=ether3 dst=10.0.9.0/24 max-limit=64k/0 comment="x; y"
