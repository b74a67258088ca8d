"""Tests that know the product only as its users do."""
