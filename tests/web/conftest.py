from tests.admin.conftest import booth, kept_booth

__all__ = ["booth", "kept_booth"]
