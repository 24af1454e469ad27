"""Does an ARK go on after a line wrap? What is known, the rules, and their order."""
