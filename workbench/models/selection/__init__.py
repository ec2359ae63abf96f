"""The private selection of public images, as a part: noisy votes for candidates, round by round (Private Evolution).

`config.Selection` says what is asked for and gives the stages, `selector.Selector` carries it out; `spaces` are where a record
finds the candidate nearest to it, `variations` how candidates change between rounds, `pretraining` trains on what was selected. A
method that uses the part nests a `Selection` in its configuration, calls `Selector.add_to` for its first state, yields from
`Selector.run`, and takes images by `Selector.draw`. Methods on `workbench.methods.pretrained` have it already, as `selected`.
"""
