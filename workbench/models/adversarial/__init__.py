"""Generative adversarial networks: what their critics and generators are told, whoever protects the records."""
