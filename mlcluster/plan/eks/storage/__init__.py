"""Storage of an eks cluster: file systems that many pods share, and StorageClasses for volumes of single pods.

storage_resources   resources in the account: file systems, mount targets, access points, security groups, policies
storage_objects     StorageClasses, and for each team and shared volume a bound claim
storage_addons      the CSI drivers that these need
with_kept_parents   retention of the resources that a retained resource refers to
"""

from mlcluster.plan.eks.storage.addons import storage_addons
from mlcluster.plan.eks.storage.objects import storage_objects
from mlcluster.plan.eks.storage.resources import storage_resources
from mlcluster.plan.eks.storage.retention import with_kept_parents

__all__ = ["storage_addons", "storage_objects", "storage_resources", "with_kept_parents"]
