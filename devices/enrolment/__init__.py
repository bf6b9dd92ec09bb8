"""Enrolment: the state folder of devices, made once and reopened by every later run."""
