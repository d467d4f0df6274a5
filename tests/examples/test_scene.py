from examples.scene import WIDTH, Scene, format_scene


def test_a_scene_is_told_in_its_order():
    scene = Scene(title="A fact is stated.", said="hello", got="one\n\ntwo", what="The model is sent", why="Because.")

    assert format_scene(scene, number=2) == (
        "2. A fact is stated.\n  > hello\n  The model is sent:\n    one\n\n    two\n  Because.\n"
    )


def test_what_a_scene_leaves_out_is_not_told():
    assert format_scene(Scene(title="Nothing."), number=1) == "1. Nothing.\n"


def test_no_line_is_wider_than_the_page():
    long = "word " * 60
    text = format_scene(Scene(title="Long.", said=long, got=long, why=long), number=1)

    assert max(map(len, text.splitlines())) <= WIDTH
    assert text.count("word") == 180
