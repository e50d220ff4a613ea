"""Tables on terminals and in pipes."""

from wikisync.cli.console import table_text

COLUMNS = ["id", "description"]


def test_pipe_gets_lines_with_tabs() -> None:
    text = table_text(COLUMNS, [[7, "a\tb"], [8, None]], width=None)

    assert text == "id\tdescription\n7\ta b\n8\t\n"


def test_terminal_gets_a_table_of_its_width() -> None:
    text = table_text(COLUMNS, [[7, "word " * 20]], width=40)

    assert max(len(line) for line in text.splitlines()) <= 40
    assert text.count("word") == 20


def test_foreign_text_moves_no_cursor_and_is_no_markup() -> None:
    text = table_text(COLUMNS, [[7, "[bold]a\x1b[2J\r\n"]], width=60)

    assert "[bold]a [2J" in text
    assert "\x1b" not in text
