"""The patterns of the spec models in words, each with an example. A test finds patterns without words."""

from mlcluster.spec.base import DURATION, LABEL, QUANTITY, RESOURCE_NAME, SUBDOMAIN

PATTERNS: dict[str, tuple[str, str]] = {
    LABEL: ("a name of lowercase letters, digits and dashes that begins and ends with a letter or digit", "research-2"),
    QUANTITY: ("a Kubernetes quantity", '"1500m" or "64Gi"'),
    DURATION: ("a duration in hours, minutes and seconds", '"90s" or "1h30m"'),
    SUBDOMAIN: ("a DNS name", "fast.example.com"),
    RESOURCE_NAME: ("an extended resource name with a domain", "rdma/hca"),
    r"^1\.[0-9]{2}$": ("a minor version of Kubernetes", '"1.34"'),
    r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$": (
        "a label value of letters, digits, dashes, dots and underscores that begins and ends with a letter or digit",
        "training",
    ),
    r"^cr-[0-9a-z]+$": ("the ID of a capacity reservation", "cr-0123456789abcdef0"),
    r"^all-(disabled|balanced|[0-9]+g\.[0-9]+gb([.-][a-z]+)*)$": ("a MIG layout", "all-1g.5gb"),
    r"^[a-z0-9][-a-z0-9]*$": ("a GPU model in lowercase", "h100"),
    r"^[a-z0-9-]+\.[a-z0-9-]+$": ("an EC2 instance type", "p5.48xlarge"),
    r"^[a-z]{2}(-[a-z]+)+-[0-9]$": ("an AWS region", "us-west-2"),
    r"^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$": ("an availability zone", "us-west-2a"),
    r"^subnet-[0-9a-f]+$": ("the ID of a subnet", "subnet-0123456789abcdef0"),
    r"^vpc-[0-9a-f]+$": ("the ID of a VPC", "vpc-0123456789abcdef0"),
    r"^[0-9.]+/[0-9]{1,2}$": ("an IPv4 address range in CIDR notation", "10.0.0.0/16"),
    r"^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/.+$": (
        "the ARN of an IAM role or user",
        "arn:aws:iam::111122223333:role/platform",
    ),
    r"^arn:aws[a-z-]*:kms:.+:key/.+$": (
        "the ARN of a KMS key",
        "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
    ),
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?Z$": (
        "a UTC time in ISO 8601 format",
        '"2026-12-01T11:30:00Z"',
    ),
    r"^[0-9]{12}$": ("an AWS account ID of 12 digits", '"111122223333"'),
    r"^[^\s]+$": ("a name without spaces", "ml-research"),
    r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/.+$": ("the ARN of an IAM role", "arn:aws:iam::111122223333:role/ml"),
    r"^[0-9a-fA-F:.]+/[0-9]{1,3}$": ("an IP address range in CIDR notation", "10.0.0.0/8"),
    r"^[0-9a-fA-F:.]+$": ("an IP address", "10.60.0.1"),
    r"^[0-9a-f]{4}$": ("a PCI ID of four lowercase hexadecimal digits", '"15b3"'),
    r"^0x[0-9a-f]{1,4}$": ("an InfiniBand partition key of 0x and up to four lowercase hexadecimal digits", '"0x8001"'),
    r"^[a-z0-9_-]+$": ("a kernel driver name", "mlx5_core"),
    r"^[A-Za-z0-9_.:@#,-]{1,64}$": ("a network interface name", "eth1"),
    r"^(file|s3|gs|azblob|https?)://.+": ("the URL of a state backend", "s3://atlas-state"),
    r"^(passphrase$|(awskms|gcpkms|azurekeyvault|hashivault)://.+)": (
        "a secrets provider",
        "awskms://alias/atlas",
    ),
    r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$": (
        "an annotation key",
        "metallb.io/address-pool",
    ),
    r"^[A-Za-z0-9][-A-Za-z0-9_./]*$": ("a load balancer class", "service.k8s.aws/nlb"),
    r"^[A-Z]{3}[0-9]{3}$": ("the ID of a finding", "SCH001"),
    r"^v?[0-9]+\.[0-9]+\.[0-9]+([-+.][0-9A-Za-z.+-]+)?$": ("a chart version", "v26.7.0"),
    r"^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)*$": ("a registry without a URL scheme", "registry.example.com/mirror"),
    r"^https?://[^\s/?#]+(/[^\s?#]*)?$": ("a URL without a query", "http://prometheus.monitoring.svc:9090"),
    r"^([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?$": (
        "a duration in years, weeks, days, hours and minutes, in this order",
        "15d or 1w12h",
    ),
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$": (
        "a service account in the form NAMESPACE/NAME",
        "jobset-system/jobset-controller",
    ),
    r"^[a-z0-9]([-a-z0-9._/:]*[a-z0-9])?(:[\w][\w.-]*)?(@sha256:[0-9a-f]{64})?$": (
        "a container image",
        "registry.example.com/train:1.2",
    ),
}
