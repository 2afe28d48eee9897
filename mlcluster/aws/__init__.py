"""Read-only questions to an AWS account: who we are, what would go wrong, what was left behind."""
