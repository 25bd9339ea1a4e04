"""The systems NumColBERT is compared with."""
