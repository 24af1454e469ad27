"""Pages as a browser shows them: a Chromium that opens no connection, and has from us all that it asks for."""
