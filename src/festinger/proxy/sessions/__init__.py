"""Which conversation does a request belong to, and what is still known of it?

Recognising is pure; what is kept is bounded in number, size and age, and lives in memory alone. Storing blocks
so that another process can put the same ones in is `store`'s matter.
"""
