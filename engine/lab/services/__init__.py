"""Services of a lab: web server, clock, simulated cloud, capture of its traffic, chat client."""
