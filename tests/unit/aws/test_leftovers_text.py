"""The text report of a search for leftovers."""

import pytest

from mlcluster.aws.leftovers import Leftover, Leftovers, Unknown
from mlcluster.report.leftovers_text import leftovers_text

pytestmark = pytest.mark.unit

VOLUME = Leftover("volume", "vol-1", "notebook", "", "us-west-2a", 0.011, "aws ec2 delete-volume", "tag a", ("i-1",))
SNAPSHOT = Leftover("snapshot", "snap-1", "", "", "", None, "aws ec2 delete-snapshot", "tag a")
INTERFACE = Leftover("network interface", "eni-1", "", "", "", 0.0, "", "in vpc-1", ("a NAT gateway",))
BUCKET = Leftover("s3", "arn:aws:s3:::data", "", "", "", None, "", "tag a")
FILES = Leftover("EFS file system", "fs-1", "", "", "", 0.03, "aws efs delete-file-system", "tag a")
KEY = Leftover("KMS key", "0b", "", "", "", 0.0, "", "AWS deletes it on 2026-12-01")
UNKNOWN = Unknown("SQS queue", "sqs:ListQueues", "may not")
BROKEN = Unknown("VPC", "", "AWS throttled\nevery attempt")


def text(
    *left: Leftover, kept: tuple[Leftover, ...] = (), unknown: tuple[Unknown, ...] = (), region: str = "us-west-2"
) -> str:
    return leftovers_text(Leftovers("atlas", region, left, kept, unknown))


def test_nothing_left_is_one_line() -> None:
    assert text() == "atlas in us-west-2: nothing left\n"


def test_list_of_leftovers() -> None:
    assert text(VOLUME, SNAPSHOT, INTERFACE, BUCKET) == (
        "Left in us-west-2: ≈ $0.0110 an hour, and 2 of unknown price (us-east-1 list prices of 2026-04)\n"
        "KIND               ID      NAME      ZONE            $/H  FOUND BY  AFTER\n"
        "volume             vol-1   notebook  us-west-2a   0.0110  tag a     i-1\n"
        "snapshot           snap-1                        unknown  tag a\n"
        "network interface  eni-1                               -  in vpc-1  a NAT gateway\n"
        "s3                 data                          unknown  tag a\n"
        "\n"
        "Run these commands in this order. If AWS is still deleting a dependency, wait a minute and repeat:\n"
        "  aws ec2 delete-volume\n"
        "  aws ec2 delete-snapshot\n"
        "  # network interface eni-1 goes with a NAT gateway\n"
        "  # s3 arn:aws:s3:::data: look at it in the AWS console\n"
        "\n"
        "atlas in us-west-2: 4 things are left\n"
    )


def test_kept_resources_are_not_leftovers() -> None:
    assert text(kept=(FILES, KEY)) == (
        "Kept in us-west-2: ≈ $0.0300 an hour (us-east-1 list prices of 2026-04)\n"
        "KIND             ID    NAME  ZONE     $/H  FOUND BY                      AFTER\n"
        "EFS file system  fs-1              0.0300  tag a\n"
        "KMS key          0b                     -  AWS deletes it on 2026-12-01\n"
        "\n"
        "To remove that too:\n"
        "  aws efs delete-file-system\n"
        "\n"
        "atlas in us-west-2: nothing left\n"
    )


def test_unknown_kinds_are_reported() -> None:
    assert text(unknown=(UNKNOWN, BROKEN)) == (
        "Not known, so something of it may be left:\n"
        "  SQS queue: allow sqs:ListQueues\n"
        "  VPC: AWS throttled; every attempt\n"
        "\n"
        "atlas in us-west-2: nothing found, but 2 kinds could not be asked for\n"
    )


def test_one_leftover_in_the_price_region() -> None:
    told = text(VOLUME, region="us-east-1")
    assert "Left in us-east-1: $0.0110 an hour (us-east-1" in told
    assert told.endswith("atlas in us-east-1: 1 thing is left\n")


def test_long_commands_and_names_are_not_truncated() -> None:
    command = "aws " + "x" * 500
    name = "n" * 200
    told = text(Leftover("volume", "vol-1", name, "", "", 0.0, command, "tag a"))
    assert f"  {command}\n" in told
    assert name in told


def test_color_is_optional() -> None:
    assert "\x1b[" not in text(VOLUME)
    assert "\x1b[31m" in leftovers_text(Leftovers("atlas", "us-west-2", (VOLUME,)), color=True)
