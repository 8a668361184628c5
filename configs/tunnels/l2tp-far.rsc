/ppp secret add name=u password=p local-address=10.1.0.2 remote-address=10.1.0.1 routes=198.18.0.0/24
/interface l2tp-server server set enabled=yes default-profile=default allow-fast-path=yes
