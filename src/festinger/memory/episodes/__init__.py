"""Stores episodes, stretches of conversation, with their turns, summaries and lessons.

Decides when an episode ends, how it is summarized without a model, and what is worth learning from it.
Learning is done by `learn`, search over turns by `retrieval`.

    store.open_episode, append_turn, close_episode, update_episode, close_stale_episodes
    store.get_episode, load_episode_details, page_episodes
    store.append_exchanges                            subscribes to `exchange_captured`
    lessons.summarise, lessons.learn_lessons          by model or extract; each lesson is learned once
"""
