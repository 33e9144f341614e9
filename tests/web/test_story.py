import base64
import json
from itertools import pairwise

from jigsolve.web.story import Story, events


def told(entries, most_grids=100):
    return [json.loads(event.split("data: ")[1]) for event in events(entries, most_grids)]


def story_of(count, most_bytes, size=10):
    story = Story(most_bytes)
    for number in range(count):
        story.add({"number": number}, bytes([number % 256]) * size)
    return story


def test_entries_come_back_in_order_with_their_arrangements():
    story = story_of(5, 1000)
    assert [entry.number for entry in story.after(1)] == [2, 3, 4]
    assert base64.b64decode(told(story.after(3))[0]["grid"]) == bytes([4]) * 10


def test_old_arrangements_are_thinned_and_every_record_stays():
    story = story_of(1000, 300)
    entries = story.after(-1)
    held = [entry.number for entry in entries if entry.grid is not None]
    assert [entry.number for entry in entries] == list(range(1000))
    assert 15 <= len(held) <= 30
    assert (held[0], held[-1]) == (0, 999)
    assert max(after - before for before, after in pairwise(held)) <= 128


def test_one_arrangement_larger_than_the_room_is_kept_all_the_same():
    assert story_of(3, 5).last.grid is not None


def test_who_is_late_gets_the_newest_arrangements_and_all_records():
    data = told(story_of(30, 10_000).after(9), most_grids=4)
    assert [one["number"] for one in data] == list(range(10, 30))
    assert [one["number"] for one in data if one["grid"]] == [26, 27, 28, 29]


def test_an_arrangement_of_22755_pieces_is_less_than_100_kilobytes():
    story = Story(10**6)
    story.add({"number": 7}, bytes(2 * 22_755))
    assert len(next(events(story.after(-1), 1))) < 100_000
