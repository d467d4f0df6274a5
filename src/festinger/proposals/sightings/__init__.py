"""What was suggested: sightings, their fingerprints, who counts, and which mean the same."""
