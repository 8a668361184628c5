# The wiki's next step: "default rules that should present on any firewall". Continued lines, blanks
# behind a continuation and tabs are as they stand there.
/ip firewall filter
add chain=forward protocol=tcp connection-state=invalid \
 	action=drop comment="drop invalid connections"  
add chain=forward connection-state=established action=accept \ 
 	comment="allow already established connections"  
add chain=forward connection-state=related action=accept \
 	comment="allow related connections"  
