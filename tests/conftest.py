"""Settings that every test shares."""

from hypothesis import settings

# A busy machine is no failure: what must be fast is guarded by growth ratios, not by deadlines.
settings.register_profile("spancheck", deadline=None)
settings.load_profile("spancheck")
