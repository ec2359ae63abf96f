"""Claims: what every paper claims beside what is proved, and what has been spent on each dataset here."""
