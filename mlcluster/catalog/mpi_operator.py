"""The MPI Operator's rate of API requests and its number of workers, the same in clusters and in the lab.

By default it makes 5 requests a second with 2 workers (v0.8.0, cmd/mpi-operator/app/options/options.go), so an MPIJob
of a hundred workers takes half a minute to get its pods.
"""

RATE_FLAGS = (
    "-kube-api-qps=500",
    "-kube-api-burst=1000",
    "-controller-queue-rate-limit=1000",
    "-controller-queue-burst=1000",
    "-threadiness=8",
)
