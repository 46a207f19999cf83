"""Spectral relaxation: eigensolvers, and discretizers that turn eigenvectors into labels."""
