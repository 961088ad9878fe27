"""Sources of measurements, brought into the schema of `planopt validate`."""
