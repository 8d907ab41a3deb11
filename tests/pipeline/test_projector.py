"""A projector gives what the projection gives, whatever it has seen before."""

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.anthropic.requests import parse
from clew.model.target import Target
from clew.pipeline.options import Options
from clew.pipeline.project import project
from clew.pipeline.projector import Projector
from clew.pipeline.step import Facts
from clew.thinking.profiles import profile_for
from tests.build import Json, assistant, raw, system, thinking, tool_result, tool_use, user
from tests.counts import examples

MODELS = ("claude-opus-5-5", "claude-sonnet-4-5", "claude-haiku-4-5", "qwen3-32b")
PARAMETERS: dict[str, list[object]] = {
    "thinking": [
        {"type": "adaptive"},
        {"type": "enabled", "budget_tokens": 2000},
        {"type": "disabled"},
        {"type": "enabled", "budget_tokens": 1},
    ],
    "output_config": [{"effort": "high"}, {"effort": "max"}, {}],
    "temperature": [1, 0.3],
    "top_k": [5],
    "max_tokens": [100, 4000, 10**9],
    "tool_choice": [{"type": "any"}, {"type": "auto"}],
    "tools": [[], [{"name": "t", "input_schema": {"type": "object"}}]],
    "context_management": [{"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}, {"edits": []}],
    "safeguards": [{"a": 1}],
    "system": ["be brief", " ", [{"type": "text", "text": ""}]],
}
MESSAGES: tuple[list[Json], ...] = (
    [user("hi")],
    [user("")],
    [user(" \n")],
    [user()],
    [user({"type": "text", "text": ""}, {"type": "text", "text": "hi"})],
    [{"role": "assistant", "content": "hi"}],
    [system("hi")],
    [user("hi"), system("be brief")],
    [user("hi"), assistant(thinking("t", "sig"), "yes"), user("more")],
    [user("hi"), assistant(thinking("t", ""), "yes"), user("more")],
    [user("hi"), assistant("yes", thinking("t", "sig"))],
    [user("hi"), assistant(thinking("t", "sig"), tool_use("t1")), user(tool_result("t1"))],
    [user("hi"), assistant(tool_use("t1")), user("no")],
    [user("hi"), {**system("x"), "output_config": {"effort": "max"}}, assistant("yes"), user("more")],
)


@st.composite
def asked(draw: st.DrawFn) -> tuple[bytes, str, str, tuple[str, ...]]:
    chosen = {name: draw(st.sampled_from(values)) for name, values in PARAMETERS.items() if draw(st.booleans())}
    betas = draw(st.sampled_from([(), ("interleaved-thinking-2025-05-14",)]))
    body = raw(*draw(st.sampled_from(MESSAGES)), **{"max_tokens": 4000, **chosen})
    return body, draw(st.sampled_from(MODELS)), draw(st.sampled_from(["anthropic", "glm"])), betas


def target(model: str, realm: str) -> Target:
    return Target(backend="b", model=model, profile=profile_for(model), realm=realm)


@given(st.lists(asked(), min_size=2, max_size=8), st.sampled_from([Options(), Options(forced_tools="auto")]))
@settings(max_examples=examples(60), deadline=None)
def test_it_gives_what_the_projection_gives_also_the_second_time(
    requests: list[tuple[bytes, str, str, tuple[str, ...]]], options: Options
) -> None:
    """Law 2: the memo only skips what would change nothing."""
    known: dict[tuple[str, str], Projector] = {}
    facts = Facts(options=options)
    for body, model, realm, betas in [*requests, *requests]:
        parsed = parse(body, betas=betas)
        projector = known.setdefault((model, realm), Projector(target(model, realm), options))
        got, again = projector.project(parsed, facts), projector.project(parsed, facts)
        wanted = project(parsed, target(model, realm), facts)

        assert (got.body, got.changes, got.request.betas) == (wanted.body, wanted.changes, wanted.request.betas)
        assert (again.body, again.changes, again.request.betas) == (wanted.body, wanted.changes, wanted.request.betas)
