"""Invented nvidia-smi documents, small enough to read; the element names are those of driver 580."""

from __future__ import annotations

GPU = """\
  <gpu id="00000000:{bus}:00.0">
    <product_name>{product}</product_name>
    <persistence_mode>{persistence}</persistence_mode>
    <mig_mode><current_mig>{mig}</current_mig>
      <pending_mig>{mig_pending}</pending_mig></mig_mode>
    <serial>INVENTED-{index}</serial>
    <uuid>GPU-00000000-0000-0000-0000-00000000000{index}</uuid>
    <vbios_version>{vbios}</vbios_version>
    <inforom_version><img_version>{inforom}</img_version>
      <ecc_object>7.16</ecc_object></inforom_version>
    <gpu_virtualization_mode><virtualization_mode>None</virtualization_mode></gpu_virtualization_mode>
    <gsp_firmware_version>{gsp}</gsp_firmware_version>
    <gpu_recovery_action>{recovery}</gpu_recovery_action>
    <pci>
      <pci_device_id>233010DE</pci_device_id>
      <pci_bus_id>00000000:{bus}:00.0</pci_bus_id>
      <pci_gpu_link_info>
        <pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>5</current_link_gen></pcie_gen>
        <link_widths><max_link_width>16x</max_link_width><current_link_width>16x</current_link_width></link_widths>
      </pci_gpu_link_info>
      <replay_counter>{replays}</replay_counter>
    </pci>
    <clocks_event_reasons>
      <clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
      <clocks_event_reason_hw_slowdown>{hw_slowdown}</clocks_event_reason_hw_slowdown>
      <clocks_event_reason_hw_thermal_slowdown>Not Active</clocks_event_reason_hw_thermal_slowdown>
      <clocks_event_reason_hw_power_brake_slowdown>Not Active</clocks_event_reason_hw_power_brake_slowdown>
      <clocks_event_reason_sw_thermal_slowdown>{sw_thermal}</clocks_event_reason_sw_thermal_slowdown>
    </clocks_event_reasons>
    <fb_memory_usage><total>{memory}</total></fb_memory_usage>
    <ecc_mode><current_ecc>{ecc}</current_ecc>
      <pending_ecc>{ecc_pending}</pending_ecc></ecc_mode>
    <ecc_errors>
      <volatile>
        <sram_correctable>0</sram_correctable>
        <sram_uncorrectable_parity>N/A</sram_uncorrectable_parity>
        <dram_uncorrectable>{volatile}</dram_uncorrectable>
      </volatile>
      <aggregate>
        <dram_uncorrectable>{aggregate}</dram_uncorrectable>
        <sram_threshold_exceeded>{sram}</sram_threshold_exceeded>
      </aggregate>
      <channel_repair_pending>{repair}</channel_repair_pending>
      <tpc_repair_pending>No</tpc_repair_pending>
      <unrepairable_memory>{unrepairable}</unrepairable_memory>
    </ecc_errors>
    <retired_pages>
      <multiple_single_bit_retirement><retired_count>{single}</retired_count></multiple_single_bit_retirement>
      <double_bit_retirement><retired_count>{double}</retired_count></double_bit_retirement>
      <pending_retirement>{retirement}</pending_retirement>
    </retired_pages>
    <remapped_rows>
      <remapped_row_corr>0</remapped_row_corr>
      <remapped_row_unc>{rows}</remapped_row_unc>
      <remapped_row_pending>{pending}</remapped_row_pending>
      <remapped_row_failure>{failure}</remapped_row_failure>
      <row_remapper_histogram>
        <row_remapper_histogram_none>{banks}</row_remapper_histogram_none>
      </row_remapper_histogram>
    </remapped_rows>
    <temperature>
      <gpu_temp>29 C</gpu_temp><gpu_temp_tlimit>58 C</gpu_temp_tlimit><memory_temp>37 C</memory_temp>
    </temperature>
    <gpu_power_readings>
      <current_power_limit>{power}</current_power_limit>
      <default_power_limit>{default_power}</default_power_limit>
    </gpu_power_readings>
    <max_clocks>
      <sm_clock>{sm_clock}</sm_clock>
    </max_clocks>
    <max_customer_boost_clocks><graphics_clock>{boost}</graphics_clock></max_customer_boost_clocks>
    <fabric>
      <state>{state}</state>
      <status>{status}</status>
      <cliqueId>0</cliqueId>
      <clusterUuid>00000000-0000-0000-0000-000000000000</clusterUuid>
      <health>
        <summary>{summary}</summary>
        <bandwidth>N/A</bandwidth>
        <route_recovery_in_progress>N/A</route_recovery_in_progress>
        <route_unhealthy>{route_unhealthy}</route_unhealthy>
        <access_timeout_recovery>N/A</access_timeout_recovery>
        <incorrect_configuration>N/A</incorrect_configuration>
      </health>
    </fabric>
    <processes>
    </processes>
  </gpu>
"""

HEALTHY = {
    "product": "NVIDIA H100 80GB HBM3",
    "persistence": "Enabled",
    "recovery": "None",
    "ecc": "Enabled",
    "volatile": "0",
    "aggregate": "0",
    "pending": "No",
    "failure": "No",
    "state": "Completed",
    "status": "Success",
    "summary": "N/A",
    "route_unhealthy": "N/A",
    "mig": "Disabled",
    "mig_pending": "Disabled",
    "vbios": "96.00.00.00.01",
    "inforom": "G520.0200.00.05",
    "gsp": "580.126.20",
    "replays": "120",
    "hw_slowdown": "Not Active",
    "sw_thermal": "Not Active",
    "memory": "81559 MiB",
    "ecc_pending": "Enabled",
    "sram": "No",
    "repair": "No",
    "unrepairable": "No",
    "single": "N/A",
    "double": "N/A",
    "retirement": "N/A",
    "rows": "0",
    "banks": "0 bank(s)",
    "power": "700.00 W",
    "default_power": "700.00 W",
    "sm_clock": "1980 MHz",
    "boost": "1980 MHz",
}


def gpu(index: int, **changes: str) -> str:
    """One GPU's element, healthy but for `changes` (keys of HEALTHY)."""
    return GPU.format(index=index, bus=f"{16 + index:02X}", **{**HEALTHY, **changes})


def document(
    *gpus: str,
    driver: str = "580.126.20",
    attached: int | None = None,
    comment: str = "<!-- simulated by the sovctl lab -->",
) -> str:
    """A whole document."""
    count = len(gpus) if attached is None else attached
    return (
        f'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">\n{comment}\n'
        "<nvidia_smi_log>\n"
        f"  <driver_version>{driver}</driver_version>\n  <cuda_version>13.0</cuda_version>\n"
        f"  <attached_gpus>{count}</attached_gpus>\n{''.join(gpus)}</nvidia_smi_log>\n"
    )


def eight(**changes: str) -> str:
    """Eight GPUs; `changes` apply to GPU 3 alone."""
    return document(*(gpu(index, **(changes if index == 3 else {})) for index in range(8)))
