"""What a user may write: the models, the YAML source that knows its lines, and the problems found in it."""
