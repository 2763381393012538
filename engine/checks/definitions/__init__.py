"""Checks, one file each: `topic.words-of-it` is `topic/words_of_it.py`. `_name.py` is shared by checks or topics."""
