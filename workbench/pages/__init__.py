"""The pages of the dashboard, one script each; `app.py` lists them."""
