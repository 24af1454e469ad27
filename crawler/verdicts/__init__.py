"""The verdict on the three services, by rules without a network."""
