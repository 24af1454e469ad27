"""Packages of XML: Word, Excel, PowerPoint, OpenDocument; EPUB uses them too."""
