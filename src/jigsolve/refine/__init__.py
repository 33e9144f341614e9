"""What improves a finished arrangement."""
