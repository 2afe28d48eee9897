"""Storage of an eks cluster: file systems that many pods share, and the classes of volumes for one pod each.

storage_resources   what is made in the account: file systems, their doors and who may come through them
storage_objects     StorageClasses, and for each team and shared volume a bound claim
storage_addons      the CSI drivers that these need
with_kept_parents   what cannot be deleted because something in it is kept
"""

from mlcluster.plan.eks.storage.addons import storage_addons
from mlcluster.plan.eks.storage.objects import storage_objects
from mlcluster.plan.eks.storage.resources import storage_resources
from mlcluster.plan.eks.storage.retention import with_kept_parents

__all__ = ["storage_addons", "storage_objects", "storage_resources", "with_kept_parents"]
