"""What the answers amount to: the verdict on the three services, by rules without a network."""
