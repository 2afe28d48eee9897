"""When an alert fires: every number and duration of the rules, in one place.

Durations are Prometheus's own words ("30m"). Sources: NVIDIA's XID catalogue, Kueue's defaults.
"""

RECORD_INTERVAL = "60s"
"""How often recorded series are made."""

BUSY_LOW = 0.5
"""Ratio of time a GPU works below which a training pod wastes it."""
BUSY_WINDOW = "30m"
BUSY_GRACE_SECONDS = 2700
"""A pod this young is not judged: images, data and compilation come first."""
BUSY_HOLD = "15m"

MEMORY_HIGH = 0.9
"""Ratio of time memory is copied above which memory is what a job waits for."""
MEMORY_STILL = 0.02
"""Below it nothing is read or written to speak of: a kernel that spins, mostly a collective that waits."""
SPINNING_BUSY = 0.9
MEMORY_HOLD = "30m"

IDLE = 0.02
"""Ratio of time a GPU works below which it does nothing."""
IDLE_WINDOW = "30m"
IDLE_HOLD = "1h"
UNCOUNTED_HOLD = "15m"
"""Longer than pods take to end, and than metrics of pods and of Kueue differ because of when they are scraped."""

APPLICATION_XIDS = ("0", "13", "31", "43", "45", "68", "109")
"""Errors of the program, not of the GPU, as the device plugin has them."""
FATAL_XIDS = ("48", "74", "79", "95", "119", "120")
"""Double-bit ECC, NVLink, off the bus, uncontained ECC, GSP: the GPU needs a reset or a repair."""
XID_MEMORY = "15m"
"""How long a code counts as new."""

SINGLE_BIT_STORM = 100
"""Corrected errors in `ECC_WINDOW` that are more than background."""
ECC_WINDOW = "1h"
REMAP_WINDOW = "24h"

HEALTH_FAILED = 20
"""DCGM_HEALTH_RESULT_FAIL (dcgm_structs.h); 10 is a warning, 0 a pass."""

BLANK = "1e12"
"""Below DCGM's words for "not known" (0x7ffffffffffffff0 and the like), which some exporters pass on as numbers."""

HOT_CELSIUS = 87
THROTTLED = 0.05
"""Ratio of time throttled for heat."""
HEAT_HOLD = "10m"
HEAT_EVENTS = ("hw_slowdown", "hw_thermal", "sw_thermal")
"""Clock events as the exporter calls them (dcgm-exporter, clock_events_collector.go)."""

NVLINK_WINDOW = "1h"

NODE_HOLD = "10m"
INCOMPLETE_HOLD = "30m"
"""A new node needs its driver and device plugin first."""
SILENT_HOLD = "15m"
OPERATOR_HOLD = "30m"

OOM_WINDOW = "10m"

PENDING_WINDOW = "1h"
PENDING_HOLD = "30m"
INADMISSIBLE_HOLD = "30m"
INACTIVE_HOLD = "10m"
IDLE_QUOTA_HOLD = "30m"
WAIT_SECONDS = 14400
"""Nineteen of twenty workloads should start sooner."""
WAIT_HOLD = "1h"
EVICTION_WINDOW = "1h"

TRAINING_OWNERS = ("Job", "MPIJob", "PyTorchJob", "RayCluster", "TrainJob")
"""Kinds whose pods run to an end; pods of Deployments and the like serve, and may wait for requests."""
