"""The report of a results folder: one page to hand over, as HTML or Markdown."""
