"""Does an ARK go on behind a line wrap? What is known, the rules, and their order."""
