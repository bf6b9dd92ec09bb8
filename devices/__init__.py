"""A person's device: its data, its answers and its refusals.

Nothing here imports ``curator``, ``strategies``, ``cli`` or Ray, and torch or PyG are
imported only inside functions: a device has no GPU stack, and a worker process has to
start in well under a second.
"""
