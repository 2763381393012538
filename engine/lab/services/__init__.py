"""Services of the lab: chat client, cloud, certificates, capture of traffic."""
