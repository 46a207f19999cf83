"""Estimators with the scikit-learn interface, for one graph, anchor graphs and several views."""
