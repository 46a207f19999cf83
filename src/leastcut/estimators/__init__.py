"""Estimators of scikit-learn: one for graphs, for anchors and for several views, on one base."""
