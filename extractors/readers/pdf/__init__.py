"""PDFs: pages, lines and links by PDFium, with what lies around them."""
