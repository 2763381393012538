"""From a plan to a changed site: stale check, lock, waves, Ansible as the hands, a journal."""
