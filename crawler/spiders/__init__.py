"""The spiders: from documents to mentions, and from ARKs to observations. They make no decisions about meaning."""
