"""Text to quantities and conditions. Takes no part in ranking."""
