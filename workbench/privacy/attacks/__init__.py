"""What an attacker can do: trade-offs, lower bounds from attacks."""
