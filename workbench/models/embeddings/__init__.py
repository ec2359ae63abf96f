"""What methods share that fit a generator to noisy embeddings of labelled records: the releases, the training, the samples."""
