"""Archives as the documents in them: streamed, bounded, and read as far as they are whole."""
