"""The script `run` in parts: what there is to run, building it, running it by lot and showing it."""
