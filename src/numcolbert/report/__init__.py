"""Numbers in, tables, figures and pages out."""
