from festinger.proxy.loops.shape import Shapes, shape_of


def test_a_shape_is_a_line_without_its_literals():
    assert shape_of("  print(\"a\", 'b', `c`, 123)") == 'print("", "", "", 0)'


def test_rows_of_tables_bare_literals_and_blank_lines_have_none():
    for line in ("", "   ", "| a | b |", "+---+---+", "'CATEGORY',", "12, 13, 14", "}"):
        assert shape_of(line) == ""


def test_a_block_of_several_lines_is_counted_in_rounds():
    shapes = Shapes()
    for n in range(6):
        for line in (f"def f_{n}():", f"    found = look({n})", "", f"    return {n}"):
            shapes.add(line)
    best = max(shapes.runs, key=lambda run: run.lines)

    assert (best.block, best.count, best.all_lines) == (3, 6, 18)


def test_another_line_ends_the_run():
    shapes = Shapes()
    for n in range(9):
        shapes.add(f"assert f({n})")
    shapes.add("something else")

    assert shapes.runs == ()
