"""Pages out: decisions, comparisons and records as other tools and people read them."""
