"""Parts that every other folder uses: registries, measures."""
