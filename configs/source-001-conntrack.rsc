# The wiki's next step after source-001-routing.rsc: connection tracking.
/ip firewall connection tracking set enabled=yes
