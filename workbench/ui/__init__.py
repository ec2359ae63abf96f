"""What the pages share: forms from configurations, charts from tables, cards of privacy values, galleries of images. No logic."""
