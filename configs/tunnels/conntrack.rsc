/ip firewall connection tracking set enabled=yes
