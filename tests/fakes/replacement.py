"""What a changed property does to an AWS resource: a new one, or an update in place.

The source of each entry is the file of terraform-provider-aws (which pulumi-aws 7 is made from) that defines the type:
a property is under `replaces` where that file says ForceNew or RequiresReplace, and under `updates` where its update
function sends the change. What a file decides case by case (a smaller Lustre capacity, another kind of source of a
security group rule) stands under neither. What stands under neither is unknown, and a Diff that meets it fails: no test
passes because of a guess. `region` replaces and `tags` updates on every type.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Effect = Literal["replace", "update", "unknown"]

NEWEST_RELEASE = "1.34.9-20991231"
"""What EKS takes for an AMI release that nobody asked for."""

CLUSTER, NODE_GROUP = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"


@dataclass(frozen=True, slots=True)
class Rules:
    """Of one type; a path without indexes stands for all below it, and the longest one counts."""

    source: str
    replaces: frozenset[str]
    updates: frozenset[str]


def _rules(source: str, replaces: str, updates: str = "") -> Rules:
    return Rules(
        f"internal/service/{source}",
        frozenset(("region", *replaces.split())),
        frozenset(("tags", *updates.split())),
    )


RULES = {
    "aws:autoscaling/schedule:Schedule": _rules(
        "autoscaling/schedule.go",
        "autoscalingGroupName scheduledActionName",
        "desiredCapacity endTime maxSize minSize recurrence startTime timeZone",
    ),
    "aws:autoscaling/tag:Tag": _rules(
        "autoscaling/group_tag.go", "autoscalingGroupName tag.key", "tag.value tag.propagateAtLaunch"
    ),
    "aws:cloudwatch/eventRule:EventRule": _rules(
        "events/rule.go",
        "eventBusName name namePrefix",
        "description eventPattern forceDestroy isEnabled roleArn scheduleExpression state",
    ),
    "aws:cloudwatch/eventTarget:EventTarget": _rules(
        "events/target.go", "eventBusName rule targetId", "arn deadLetterConfig input inputPath retryPolicy roleArn"
    ),
    "aws:cloudwatch/logGroup:LogGroup": _rules(
        "logs/group.go", "logGroupClass name namePrefix", "kmsKeyId retentionInDays skipDestroy"
    ),
    "aws:ec2/eip:Eip": _rules(
        "ec2/ec2_eip.go",
        "address customerOwnedIpv4Pool domain networkBorderGroup publicIpv4Pool",
        "associateWithPrivateIp instance networkInterface",
    ),
    "aws:ec2/internetGateway:InternetGateway": _rules("ec2/vpc_internet_gateway.go", "", "vpcId"),
    "aws:ec2/launchTemplate:LaunchTemplate": _rules(
        "ec2/ec2_launch_template.go",
        "name namePrefix",
        "blockDeviceMappings capacityReservationSpecification cpuOptions creditSpecification defaultVersion description"
        " disableApiStop disableApiTermination ebsOptimized enclaveOptions hibernationOptions iamInstanceProfile"
        " imageId instanceInitiatedShutdownBehavior instanceMarketOptions instanceRequirements instanceType keyName"
        " maintenanceOptions metadataOptions monitoring networkInterfaces placement privateDnsNameOptions"
        " tagSpecifications updateDefaultVersion userData vpcSecurityGroupIds",
    ),
    "aws:ec2/natGateway:NatGateway": _rules(
        "ec2/vpc_nat_gateway.go",
        "allocationId connectivityType privateIp secondaryPrivateIpAddressCount subnetId",
        "secondaryAllocationIds secondaryPrivateIpAddresses",
    ),
    "aws:ec2/placementGroup:PlacementGroup": _rules(
        "ec2/ec2_placement_group.go", "name partitionCount spreadLevel strategy"
    ),
    "aws:ec2/route:Route": _rules(
        "ec2/vpc_route.go",
        "destinationCidrBlock destinationIpv6CidrBlock destinationPrefixListId routeTableId",
        "carrierGatewayId egressOnlyGatewayId gatewayId natGatewayId networkInterfaceId transitGatewayId vpcEndpointId"
        " vpcPeeringConnectionId",
    ),
    "aws:ec2/routeTable:RouteTable": _rules("ec2/vpc_route_table.go", "vpcId", "propagatingVgws routes"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _rules(
        "ec2/vpc_route_table_association.go", "gatewayId subnetId", "routeTableId"
    ),
    "aws:ec2/securityGroup:SecurityGroup": _rules(
        "ec2/vpc_security_group.go", "description name namePrefix vpcId", "egress ingress revokeRulesOnDelete"
    ),
    "aws:ec2/subnet:Subnet": _rules(
        "ec2/vpc_subnet.go",
        "availabilityZone availabilityZoneId cidrBlock ipv6Native outpostArn vpcId",
        "assignIpv6AddressOnCreation enableDns64 enableResourceNameDnsARecordOnLaunch"
        " enableResourceNameDnsAaaaRecordOnLaunch mapPublicIpOnLaunch privateDnsHostnameTypeOnLaunch",
    ),
    "aws:ec2/subnetCidrReservation:SubnetCidrReservation": _rules(
        "ec2/vpc_subnet_cidr_reservation.go", "cidrBlock description reservationType subnetId"
    ),
    "aws:ec2/tag:Tag": _rules("ec2/tag_gen.go", "key resourceId", "value"),
    "aws:ec2/vpc:Vpc": _rules(
        "ec2/vpc_.go",
        "cidrBlock ipv4IpamPoolId ipv4NetmaskLength",
        "assignGeneratedIpv6CidrBlock enableDnsHostnames enableDnsSupport enableNetworkAddressUsageMetrics",
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _rules(
        "ec2/vpc_endpoint.go",
        "serviceName serviceRegion vpcEndpointType vpcId",
        "autoAccept dnsOptions ipAddressType policy privateDnsEnabled routeTableIds securityGroupIds subnetIds",
    ),
    "aws:efs/accessPoint:AccessPoint": _rules("efs/access_point.go", "fileSystemId posixUser rootDirectory"),
    "aws:efs/backupPolicy:BackupPolicy": _rules("efs/backup_policy.go", "fileSystemId", "backupPolicy"),
    "aws:efs/fileSystem:FileSystem": _rules(
        "efs/file_system.go",
        "availabilityZoneName creationToken encrypted kmsKeyId performanceMode",
        "lifecyclePolicies protection provisionedThroughputInMibps throughputMode",
    ),
    "aws:efs/fileSystemPolicy:FileSystemPolicy": _rules("efs/file_system_policy.go", "fileSystemId", "policy"),
    "aws:efs/mountTarget:MountTarget": _rules(
        "efs/mount_target.go", "fileSystemId ipAddress subnetId", "securityGroups"
    ),
    "aws:eks/accessEntry:AccessEntry": _rules(
        "eks/access_entry.go", "clusterName principalArn type", "kubernetesGroups userName"
    ),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": _rules(
        "eks/access_policy_association.go", "accessScope clusterName policyArn principalArn"
    ),
    "aws:eks/addon:Addon": _rules(
        "eks/addon.go",
        "addonName clusterName",
        "addonVersion configurationValues podIdentityAssociations preserve resolveConflictsOnCreate"
        " resolveConflictsOnUpdate serviceAccountRoleArn",
    ),
    "aws:eks/cluster:Cluster": _rules(
        "eks/cluster.go",
        "accessConfig.bootstrapClusterCreatorAdminPermissions bootstrapSelfManagedAddons"
        " kubernetesNetworkConfig.ipFamily kubernetesNetworkConfig.serviceIpv4Cidr name outpostConfig roleArn",
        "accessConfig.authenticationMode deletionProtection enabledClusterLogTypes upgradePolicy version vpcConfig"
        " zonalShiftConfig",
    ),
    "aws:eks/nodeGroup:NodeGroup": _rules(
        "eks/node_group.go",
        "amiType capacityType clusterName diskSize instanceTypes launchTemplate.id launchTemplate.name nodeGroupName"
        " nodeGroupNamePrefix nodeRoleArn remoteAccess subnetIds",
        "forceUpdateVersion labels launchTemplate.version nodeRepairConfig releaseVersion scalingConfig taints"
        " updateConfig version",
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": _rules(
        "eks/pod_identity_association.go",
        "clusterName namespace serviceAccount",
        "disableSessionTags roleArn targetRoleArn",
    ),
    "aws:fsx/lustreFileSystem:LustreFileSystem": _rules(
        "fsx/lustre_file_system.go",
        "backupId copyTagsToBackups deploymentType driveCacheType efaEnabled exportPath fileSystemTypeVersion"
        " importPath importedFileChunkSize kmsKeyId securityGroupIds storageType subnetIds",
        "autoImportPolicy automaticBackupRetentionDays dailyAutomaticBackupStartTime dataCompressionType"
        " logConfiguration rootSquashConfiguration weeklyMaintenanceStartTime",
    ),
    "aws:iam/instanceProfile:InstanceProfile": _rules("iam/instance_profile.go", "name namePrefix path", "role"),
    "aws:iam/policy:Policy": _rules("iam/policy.go", "description name namePrefix path", "policy"),
    "aws:iam/role:Role": _rules(
        "iam/role.go",
        "name namePrefix path",
        "assumeRolePolicy description forceDetachPolicies inlinePolicies managedPolicyArns maxSessionDuration"
        " permissionsBoundary",
    ),
    "aws:iam/rolePolicy:RolePolicy": _rules("iam/role_policy.go", "name namePrefix role", "policy"),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": _rules("iam/role_policy_attachment.go", "policyArn role"),
    "aws:kms/alias:Alias": _rules("kms/alias.go", "name namePrefix", "targetKeyId"),
    "aws:kms/key:Key": _rules(
        "kms/key.go",
        "customKeyStoreId customerMasterKeySpec keyUsage multiRegion xksKeyId",
        "bypassPolicyLockoutSafetyCheck deletionWindowInDays description enableKeyRotation isEnabled policy"
        " rotationPeriodInDays",
    ),
    "aws:sqs/queue:Queue": _rules(
        "sqs/queue.go",
        "fifoQueue name namePrefix",
        "delaySeconds kmsDataKeyReusePeriodSeconds kmsMasterKeyId maxMessageSize messageRetentionSeconds policy"
        " receiveWaitTimeSeconds redriveAllowPolicy redrivePolicy sqsManagedSseEnabled visibilityTimeoutSeconds",
    ),
    "aws:sqs/queuePolicy:QueuePolicy": _rules("sqs/queue_policy.go", "queueUrl", "policy"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rules(
        "ec2/vpc_security_group_egress_rule.go", "securityGroupId", "description fromPort ipProtocol toPort"
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rules(
        "ec2/vpc_security_group_ingress_rule.go", "securityGroupId", "description fromPort ipProtocol toPort"
    ),
}


def effect(token: str, path: str) -> Effect:
    """What a change at a path does, e.g. taints[0].effect; KeyError for a type that the table does not list."""
    rules = RULES[token]
    parts = re.sub(r"\[[^]]*\]", "", path).split(".")
    for length in range(len(parts), 0, -1):
        start = ".".join(parts[:length])
        if start in rules.replaces:
            return "replace"
        if start in rules.updates:
            return "update"
    return "unknown"


def effects(token: str, paths: Mapping[str, str]) -> dict[str, Effect]:
    """The effect of each changed path, which was added, deleted or updated."""
    found = {path: effect(token, path) for path in paths}
    if token != CLUSTER:
        return found
    return {**found, **{path: _encryption(what) for path, what in paths.items() if path.startswith("encryptionConfig")}}


def _encryption(what: str) -> Effect:
    """eks/cluster.go, CustomizeDiff: taking it away replaces; the rest is an update, whether it is sent or not."""
    return "replace" if what == "delete" else "update"


def sent(token: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What an update really asks AWS for: some changes are accepted and never sent.

    eks/cluster.go, resourceClusterUpdate: `encryption_config` only where there was none.
    eks/node_group.go, resourceNodeGroupUpdate: `release_version` only if it changed, so that a new version of the
    launch template alone moves the nodes to the newest release.
    """
    asked = dict(new)
    if token == CLUSTER and old.get("encryptionConfig"):
        asked["encryptionConfig"] = old["encryptionConfig"]
    if token == NODE_GROUP and "releaseVersion" in new:
        moved = old.get("launchTemplate") != new.get("launchTemplate")
        if moved and old.get("releaseVersion") == new["releaseVersion"]:
            asked["releaseVersion"] = NEWEST_RELEASE
    return asked
