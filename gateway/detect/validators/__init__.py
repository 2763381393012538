"""What an identifier scheme consists of, and the functions that check its digits."""
