"""What the speed and memory figures come from."""
