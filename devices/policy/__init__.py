"""Policy of a device: the questions and losses that it agreed to at enrolment."""
