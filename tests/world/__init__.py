import pytest

pytest.register_assert_rewrite("tests.world.store_tests")
