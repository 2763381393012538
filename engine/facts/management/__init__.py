"""Parsers of dmidecode, ipmitool, Redfish and nvme-cli: the machine, its management controller, and its firmware."""
