"""Tests, in folders by room; what several of them use is in `support`."""
