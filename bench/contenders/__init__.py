"""Who is measured by `bench/gateway.py`: each starts in front of the same upstream and is asked the same way."""
