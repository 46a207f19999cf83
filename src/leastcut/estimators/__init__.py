"""The scikit-learn estimator and what it alone needs: affinities, prediction, many c at once."""
