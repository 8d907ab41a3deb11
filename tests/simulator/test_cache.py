"""The prompt cache: marks write, equal prefixes read (R58)."""

from typing import Any

from clew.simulator.anthropic.memory import CacheUse, PromptCache

MARK = {"type": "ephemeral"}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def text(words: str, mark: dict[str, str] | None = None) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": words}
    return {**block, "cache_control": mark} if mark else block


def request(*blocks: dict[str, Any], **fields: Any) -> Any:
    return {"messages": [{"role": "user", "content": list(blocks)}], **fields}


def use(cache: PromptCache, asked: Any, owner: str = "a", minimum: int = 1) -> CacheUse:
    return cache.use(asked, owner=owner, minimum=minimum)


def test_a_mark_writes_and_the_same_prefix_reads() -> None:
    cache = PromptCache(Clock())
    first = use(cache, request(text("x" * 100, MARK)))
    assert first == CacheUse(read=0, written_5m=25)
    longer = request(text("x" * 100), text("y" * 60, MARK))
    assert use(cache, longer) == CacheUse(read=25, written_5m=15)
    assert use(cache, longer) == CacheUse(read=40)


def test_another_owner_another_word_or_another_tool_misses() -> None:
    cache = PromptCache(Clock())
    asked = request(text("x" * 100, MARK))
    use(cache, asked)
    assert use(cache, asked, owner="b").read == 0
    assert use(cache, request(text("z" * 100, MARK))).read == 0
    assert use(cache, request(text("x" * 100, MARK), tools=[{"name": "t"}])).read == 0
    assert use(cache, asked).read == 25


def test_entries_live_five_minutes_or_an_hour_from_their_last_use() -> None:
    clock = Clock()
    cache = PromptCache(clock)
    short, long = request(text("s" * 100, MARK)), request(text("l" * 100, {**MARK, "ttl": "1h"}))
    assert use(cache, short) == CacheUse(written_5m=25)
    assert use(cache, long) == CacheUse(written_1h=25)
    clock.now = 299
    assert use(cache, short).read == 25
    clock.now = 3000
    assert (use(cache, short).read, use(cache, long).read) == (0, 25)


def test_a_prefix_under_the_minimum_is_not_kept() -> None:
    cache = PromptCache(Clock())
    asked = request(text("x" * 100, MARK))
    assert use(cache, asked, minimum=26) == CacheUse()
    assert use(cache, asked, minimum=25) == CacheUse(written_5m=25)


def test_a_mark_looks_back_twenty_segments() -> None:
    cache = PromptCache(Clock())
    use(cache, request(text("x" * 100, MARK)))
    near = [text("x" * 100), *(text("n") for _ in range(18)), text("n", MARK)]
    far = [text("x" * 100), *(text("f") for _ in range(19)), text("f", MARK)]
    assert use(cache, request(*near)).read == 25
    assert use(cache, request(*far)).read == 0


def test_the_automatic_mark_is_on_the_last_block() -> None:
    cache = PromptCache(Clock())
    asked = request(text("x" * 100), cache_control={"type": "ephemeral", "ttl": "1h"})
    assert use(cache, asked) == CacheUse(written_1h=25)
    assert use(cache, asked) == CacheUse(read=25)


def test_segments_that_the_model_does_not_read_are_not_cached() -> None:
    cache = PromptCache(Clock())
    thought: Any = {"type": "thinking", "thinking": "", "signature": "s" * 100}
    asked = request(thought, text("x" * 100, MARK))
    seen = cache.use(asked, owner="a", minimum=1, without={"messages.0.content.0"})
    assert seen == CacheUse(written_5m=25)


def test_the_parts_never_exceed_the_whole() -> None:
    """R73."""
    use = CacheUse(read=10, written_5m=20, written_1h=30)
    assert use.within(100) == use
    assert use.within(45) == CacheUse(read=10, written_5m=5, written_1h=30)
    assert use.within(5) == CacheUse(read=5)


def test_reset_forgets() -> None:
    cache = PromptCache(Clock())
    asked = request(text("x" * 100, MARK))
    use(cache, asked)
    cache.reset()
    assert use(cache, asked).read == 0
