"""What page, service and calculator say of a fitted estimator, as plain values."""
