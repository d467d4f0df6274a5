from festinger.proxy.loops.counting import Blotter, counts_on

BLOCK = "row 0: 0\n"


def test_a_number_is_one_mark_wherever_it_is_split():
    blotter = Blotter()

    assert "".join(blotter.grow(piece) for piece in ("a 12", "34", "5 b 6", "", "7", " 8")) == "a 0 b 0 0"


def test_numbers_that_stay_or_go_on_by_one_step_only_count():
    assert counts_on("".join(f"row {n}: 7\n" for n in range(20)), BLOCK)
    assert counts_on("".join(f"row {n}: {100 - 5 * n}\n" for n in range(20)), BLOCK)


def test_measurements_do_not_count_on():
    assert not counts_on("".join(f"row {n}: {n * n % 17}\n" for n in range(20)), BLOCK)


def test_a_block_without_a_number_and_endless_numbers_do_not_count_on():
    assert not counts_on("row\n" * 20, "row\n")
    assert not counts_on(f"row {'9' * 5_000}: 1\n" * 9, BLOCK)
