"""What several methods share and no paper owns: the image diffusion models and what is asked of one.

Parts that come with stages of their own have folders: `selection` of public images, `grouping` of a table's columns, `recovery` by scores.
"""
