"""Values and their rules: ARKs, check characters, NAANs, documents, formats and offset maps."""
