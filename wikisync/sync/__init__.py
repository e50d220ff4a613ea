"""The engine: what base, folder and wiki say must be done, and the doing of it.

``decide`` is pure: values in, a plan out.  ``base`` is what is stored, ``run`` one
cycle, ``views`` the replicas as a cycle sees them.
"""
