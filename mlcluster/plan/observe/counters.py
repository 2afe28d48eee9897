"""Which DCGM fields the exporter reports: the file that replaces its own (dcgm-exporter 4.5.3-4.8.2).

The exporter's default files lack ECC errors, throttling and counters over a window. The file of mlcluster replaces
them, so it also has their fields. An unknown field stops the exporter at its start: the names here are those of its
default files, 4.5.3-4.8.2.
"""

from dataclasses import dataclass
from typing import Literal

FILE_NAME = "dcgm-metrics.csv"
"""The key under which the GPU Operator looks for the file in its ConfigMap."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One line of the file.

    Attributes:
        field: the name of DCGM's field, or of a count that the exporter makes (DCGM_EXP_...).
        kind: `label` becomes a label of all the others.
        means: the help text; no comma, for it is not quoted.
    """

    field: str
    kind: Literal["gauge", "counter", "label"]
    means: str


COUNTERS = (
    Counter("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock in MHz."),
    Counter("DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock in MHz."),
    Counter("DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Temperature of the memory in C."),
    Counter("DCGM_FI_DEV_GPU_TEMP", "gauge", "Temperature of the GPU in C."),
    Counter("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power drawn in W."),
    Counter("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Energy used since boot in mJ."),
    Counter("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "PCIe retries."),
    Counter("DCGM_FI_DEV_GPU_UTIL", "gauge", "Share of time with a kernel running in %; not there for MIG instances."),
    Counter("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Share of time with memory read or written in %."),
    Counter("DCGM_FI_DEV_ENC_UTIL", "gauge", "Use of the encoder in %."),
    Counter("DCGM_FI_DEV_DEC_UTIL", "gauge", "Use of the decoder in %."),
    Counter("DCGM_FI_DEV_FB_FREE", "gauge", "Memory free in MiB."),
    Counter("DCGM_FI_DEV_FB_USED", "gauge", "Memory used in MiB."),
    Counter("DCGM_FI_DEV_FB_RESERVED", "gauge", "Memory reserved in MiB."),
    Counter("DCGM_FI_DEV_XID_ERRORS", "gauge", "The last XID error."),
    Counter("DCGM_EXP_XID_ERRORS_COUNT", "gauge", "XID errors within the exporter's window."),
    Counter(
        "DCGM_EXP_GPU_HEALTH_STATUS", "gauge", "DCGM's health checks by subsystem: 0 passed or 10 warns or 20 failed."
    ),
    Counter("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", "Single-bit ECC errors since the driver was loaded."),
    Counter("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "Double-bit ECC errors since the driver was loaded."),
    Counter("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", "Rows remapped for errors beyond correction."),
    Counter("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter", "Rows remapped for errors that were corrected."),
    Counter("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "1 when remapping a row failed."),
    Counter("DCGM_FI_DEV_RETIRED_PENDING", "counter", "Pages waiting to be retired; GPUs before Ampere."),
    Counter("DCGM_FI_DEV_THERMAL_VIOLATION", "counter", "Time throttled for heat in ns."),
    Counter("DCGM_FI_DEV_POWER_VIOLATION", "counter", "Time throttled for power in ns."),
    Counter("DCGM_EXP_CLOCK_EVENTS_COUNT", "gauge", "Clock events within the exporter's window."),
    Counter("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "counter", "NVLink traffic of all lanes."),
    Counter("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "counter", "NVLink CRC errors of flow control."),
    Counter("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "counter", "NVLink retries."),
    Counter("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "counter", "NVLink recoveries."),
    Counter("DCGM_FI_DEV_VGPU_LICENSE_STATUS", "gauge", "State of the vGPU licence."),
    Counter("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time with the graphics engine active."),
    Counter("DCGM_FI_PROF_SM_ACTIVE", "gauge", "Ratio of cycles with a warp on an SM."),
    Counter("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Ratio of cycles with the tensor pipe active."),
    Counter("DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Ratio of cycles with the memory interface active."),
    Counter("DCGM_FI_PROF_PCIE_TX_BYTES", "gauge", "PCIe bytes sent per second."),
    Counter("DCGM_FI_PROF_PCIE_RX_BYTES", "gauge", "PCIe bytes received per second."),
    Counter("DCGM_FI_DRIVER_VERSION", "label", "Version of the driver."),
)

FIELDS = frozenset(counter.field for counter in COUNTERS)


def dcgm_counters_csv() -> str:
    """Return the file's text: one line per field, in an order that does not change."""
    lines = [f"{counter.field}, {counter.kind}, {counter.means}" for counter in COUNTERS]
    return "\n".join(["# field, Prometheus type, help", *lines, ""])
