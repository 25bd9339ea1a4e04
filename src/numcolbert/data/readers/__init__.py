"""How each file format becomes documents, one format a file; `data.corpora` chooses between them."""
