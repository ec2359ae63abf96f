"""The site of documents: `python -m docs.site` assembles its sources under build/site and has Sphinx make pages of them."""
