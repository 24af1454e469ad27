"""Read the documents in archives as a stream, within limits, even if an archive is damaged."""
