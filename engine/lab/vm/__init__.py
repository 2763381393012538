"""Second tier of the lab: a virtual machine with UEFI Secure Boot, a TPM, two NVMe drives and its own kernel."""
