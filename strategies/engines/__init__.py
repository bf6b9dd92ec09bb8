"""Engines that take messages to devices: this process, Ray, Flower's runtime."""
