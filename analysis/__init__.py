"""What is known about a profile: pure computation, no screen and no printing."""
