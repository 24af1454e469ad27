"""From a label to a mention: reading forward and backward, and how the mentions of a document belong together."""
