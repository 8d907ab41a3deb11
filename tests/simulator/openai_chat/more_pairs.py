"""Either side of the rules about a conversation: calls and results, order, reasoning that comes back, length."""

from typing import Any

from tests.simulator.openai_chat.pairs import IMAGE, THOUGHT, TWO_CALLS, Pair, answered, choice, said
from tests.simulator.openai_chat.talking import called, result, user

CONVERSATIONS = [
    Pair("call-unanswered", "openai-chat", {"messages": [user("Hi."), called(), user("So?")]}, answered(called())),
    Pair("call-unanswered", "mistral", {"messages": [user("Hi."), called("abcdefghi")]}, answered(called("abcdefghi"))),
    Pair("result-orphan", "openai-chat", {"messages": [user("Hi."), result("call_1")]}, answered(called())),
    Pair(
        "result-orphan",
        "openai-chat",
        {"messages": [user("Hi."), called(), result("call_1"), result("call_1")]},
        answered(called()),
    ),
    Pair(
        "ids-repeated",
        "openai-chat",
        {"messages": [user("Hi."), TWO_CALLS, result("call_1"), result("call_1")]},
        answered(called()),
    ),
    Pair(
        "arguments-not-json",
        "minimax-chat",
        answered(called(arguments='{"city":')),
        answered(called(arguments='{"city":"Rome"}')),
    ),
    Pair("id-pattern", "mistral", answered(called("call_1")), answered(called("aB3dE6gH9"))),
    Pair(
        "order",
        "mistral",
        {"messages": [*answered(called("abcdefghi"))["messages"], user("So?")]},
        {"messages": [*answered(called("abcdefghi"))["messages"], {"role": "assistant", "content": "It is."}, user("So?")]},
    ),
    Pair(
        "last-role",
        "mistral",
        {"messages": [user("Hi."), {"role": "assistant", "content": "Well"}]},
        {"messages": [user("Hi."), {"role": "assistant", "content": "Well", "prefix": True}]},
    ),
    Pair("successive", "deepseek-r1", {"messages": [user("Hi."), user("Well?")]}, {"messages": [user("Hi.\nWell?")]}),
    Pair(
        "image-remote",
        "ollama",
        said([{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]),
        said([IMAGE]),
    ),
    Pair("user-missing", "zai-chat", said("Be brief.", "system"), said("Be brief.")),
    Pair("budget", "qwen-chat", {"enable_thinking": True, "thinking_budget": 0}, {"thinking_budget": 1}),
    Pair("budget", "qwen-chat", {"enable_thinking": True, "thinking_budget": 81921}, {"thinking_budget": 81920}),
    Pair(
        "tool-choice-thinking",
        "qwen-chat",
        {"enable_thinking": True, **choice("required")},
        {"enable_thinking": False, **choice("required")},
    ),
    Pair("message-field-unknown", "groq", answered(called(**THOUGHT)), answered(called(reasoning="Hm."))),
    Pair("message-field-unknown", "cerebras", answered(called(**THOUGHT)), answered(called(reasoning="Hm."))),
    Pair("field-unknown", "cerebras", {"reasoning": {"effort": "low"}}, {"reasoning_effort": "low"}),
    Pair("field-unknown", "groq", {"thinking": {"type": "enabled"}}, {"include_reasoning": True}),
    Pair(
        "parameter-unsupported",
        "ollama",
        {"model": "llama3.2", "reasoning_effort": "low"},
        {"model": "gpt-oss:20b", "reasoning_effort": "low"},
    ),
    Pair(
        "thinking-shape",
        "zai-chat",
        {"thinking": {"type": "disabled"}},
        {"thinking": {"type": "enabled", "clear_thinking": False}},
    ),
    Pair("image-unsupported", "vllm", said([IMAGE]), {"model": "Qwen-VL", **said([IMAGE])}),
    Pair("reasoning-forbidden", "deepseek-r1", answered(called(**THOUGHT)), answered(called())),
    Pair("reasoning-missing", "deepseek-chat", answered(called()), answered(called(reasoning_content=""))),
    Pair(
        "reasoning-missing",
        "deepseek-chat",
        {**answered(called(reasoning_content=None))},
        {**answered(called()), "thinking": {"type": "disabled"}},
    ),
    Pair(
        "reasoning-missing",
        "deepseek-chat",
        {"messages": [*answered(called())["messages"], {"role": "assistant", "content": "So."}, user("And?")]},
        {"messages": [user("Hi."), {"role": "assistant", "content": "So."}, user("And?")]},
    ),
    Pair("reasoning-missing", "kimi-chat", answered(called(reasoning_content="")), answered(called(reasoning_content=" "))),
    Pair(
        "reasoning-missing",
        "openrouter",
        {"model": "deepseek/deepseek-v4-pro", **answered(called())},
        {"model": "deepseek/deepseek-v4-pro", **answered(called(reasoning_details=[]))},
    ),
    Pair(
        "details-shape",
        "openrouter",
        {"model": "qwen/qwen3", **answered(called(reasoning_details=[{"type": "thinking", "thinking": "Hm."}]))},
        {"model": "qwen/qwen3", **answered(called(reasoning_details=[{"type": "reasoning.text", "text": "Hm."}]))},
    ),
    Pair(
        "details-unsigned",
        "openrouter",
        answered(called(reasoning_details=[{"type": "reasoning.text", "text": "Hm."}])),
        answered(called(reasoning_details=[])),
    ),
    Pair(
        "details-signature",
        "openrouter",
        answered(called(reasoning_details=[{"type": "reasoning.text", "text": "Hm.", "signature": "bm8="}])),
        answered(called()),
    ),
    Pair(
        "details-data",
        "openrouter",
        {
            "model": "openai/gpt-5.6",
            **answered(called(reasoning_details=[{"type": "reasoning.encrypted", "data": "gAAAAA==", "id": "rs_1"}])),
        },
        {"model": "openai/gpt-5.6", **answered(called(reasoning_details=[{"type": "reasoning.summary", "summary": "Hm."}]))},
    ),
    Pair(
        "signature-missing",
        "gemini-chat",
        answered(called()),
        {"model": "gemini-2.5-flash", **answered(called())},
    ),
    Pair(
        "signature-missing",
        "gemini-chat",
        answered(called()),
        {"messages": [*answered(called())["messages"], {"role": "assistant", "content": "So."}, user("And?")]},
    ),
    Pair("too-long", "openai-chat", said("x" * 1_700_000), said("x" * 100_000)),
    Pair(
        "too-long",
        "deepseek-r1",
        {**said("x" * 200_000), "max_tokens": 20_000},
        {**said("x" * 200_000), "max_tokens": 10_000},
    ),
]


def signed(signature: str) -> dict[str, Any]:
    message = called()
    message["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": signature}}
    return answered(message)


CONVERSATIONS += [
    Pair("signature-invalid", "gemini-chat", signed("bm9ib2R5cw=="), signed("skip_thought_signature_validator")),
    Pair("signature-invalid", "gemini-chat", signed("bm9ib2R5cw=="), signed("c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")),
]
