"""Readers of packages of XML: Word, Excel, PowerPoint, OpenDocument, EPUB."""
