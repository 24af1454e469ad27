"""The configuration: its values, its files and the validation of settings."""
