"""What is known about the hardware and its tuning beyond any one profile."""
