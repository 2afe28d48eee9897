"""Components: what is installed beside the teams, one module each."""
