"""The leftover resources of a cluster in an AWS account, found by tag, VPC and name, with prices and delete commands.

scan              searches the account without changing it
Leftovers         the leftover resources, those that the plan keeps, and the kinds that could not be listed
leftovers_data    the same as data for `-o json`
"""

from mlcluster.aws.leftovers.document import leftovers_data
from mlcluster.aws.leftovers.results import Leftover, Leftovers, Unknown
from mlcluster.aws.leftovers.scan import scan

__all__ = ["Leftover", "Leftovers", "Unknown", "leftovers_data", "scan"]
