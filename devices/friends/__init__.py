"""What devices tell their friends: guesses about their own people, told once, and how friends use them."""
