"""What holds for every test."""

from __future__ import annotations

from tests.properties import register_profiles

register_profiles()
