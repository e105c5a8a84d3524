"""The six training phases: who owns the time of a step, what runs beside what, what is prefetched."""
