"""Real clients."""

import pytest

pytest.register_assert_rewrite("tests.clients.translated")
