"""Keep pytest from importing the script that hides packages: hidden once, they stay hidden."""

collect_ignore = ["without_packages.py"]
