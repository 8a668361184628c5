/ppp profile set default use-encryption=required
