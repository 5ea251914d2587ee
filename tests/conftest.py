"""Settings that every test shares."""

from hypothesis import settings

# A busy machine is no failure: what must be fast is guarded by growth ratios, not by deadlines.
# Fifty examples a property keep the test command within five minutes; `--hypothesis-profile thorough` takes its time.
settings.register_profile("spancheck", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("spancheck")
