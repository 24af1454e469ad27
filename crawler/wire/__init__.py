"""What goes over the wire, to which addresses, and what comes back."""
