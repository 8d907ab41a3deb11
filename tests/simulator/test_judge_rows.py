"""Every row of the judge's tables from both sides: the request that breaks its rule, and the nearest legal one."""

import pytest

from tests.simulator import (
    gate_rows,
    test_judge_content,
    test_judge_layout,
    test_judge_limits,
    test_judge_pairing,
    test_judge_parameters,
    test_judge_roles,
    test_judge_thinking_parameters,
    test_judge_transport,
    test_judge_values,
)
from tests.simulator.judging import Row, accepting, named, refusing

ROWS = [
    *test_judge_transport.ROWS,
    *test_judge_values.ROWS,
    *test_judge_limits.ROWS,
    *gate_rows.ROWS,
    *test_judge_parameters.ROWS,
    *test_judge_thinking_parameters.ROWS,
    *test_judge_roles.ROWS,
    *test_judge_pairing.ROWS,
    *test_judge_content.ROWS,
    *test_judge_layout.ROWS,
]


@pytest.mark.parametrize("case", refusing(ROWS))
def test_a_broken_rule_is_refused_at_its_path_in_the_vendors_words(case: Row) -> None:
    """The rule of the row, from its illegal side."""
    assert named(case.refused().violation) == (case.rule, case.path, case.text)


@pytest.mark.parametrize("case", accepting(ROWS))
def test_its_nearest_legal_neighbour_passes(case: Row) -> None:
    """The rule of the row, from its legal side."""
    assert case.accepted().violation is None
