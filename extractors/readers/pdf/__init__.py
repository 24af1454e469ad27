"""Readers of PDF, by PDFium."""
