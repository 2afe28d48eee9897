"""One module and one short function a verb; each says what it found or did and answers with an exit code."""
