"""Calling the system under test for every case and epoch, once and durably, with what it prints kept away."""
