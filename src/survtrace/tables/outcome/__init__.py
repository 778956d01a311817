"""Duration and event of each subject, checked once."""
