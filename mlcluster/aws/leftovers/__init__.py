"""What a cluster left behind in an account: found by tag, by VPC and by name, priced, with the command to remove it.

scan              asks the account; changes nothing
Leftovers         what is left, what is kept on purpose, what the account did not tell
leftovers_data    the same as data for `-o json`
"""

from mlcluster.aws.leftovers.document import leftovers_data
from mlcluster.aws.leftovers.scan import scan
from mlcluster.aws.leftovers.things import Leftover, Leftovers, Unknown

__all__ = ["Leftover", "Leftovers", "Unknown", "leftovers_data", "scan"]
