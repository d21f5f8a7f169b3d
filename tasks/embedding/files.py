"""The files that the embedding stages write."""

FILE, REFUSED = "embeddings.parquet", "refused.json"
