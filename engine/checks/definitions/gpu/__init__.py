"""GPUs: presence, model, memory errors, persistence, PCIe link and temperature."""
