"""The words, found by keyboard alone and by the address."""

from playwright.sync_api import Page, expect

MEANING = "What is left over beyond epsilon"
SECONDS = 60.0  # a first page may compute that long on a busy machine


def test_a_word_is_found_by_keyboard_and_its_address_opens_it_again(page: Page, server: str) -> None:
    page.goto(f"{server}/process")
    button = page.get_by_role("button", name="Words")
    button.focus()
    page.keyboard.press("Enter")
    field = page.get_by_role("combobox", name="Word")
    field.focus()
    page.keyboard.type("delta")
    page.keyboard.press("Enter")
    expect(page.get_by_text(MEANING)).to_be_visible(timeout=1000 * SECONDS)
    page.wait_for_url("**word=delta**")
    page.reload()
    expect(page.get_by_text(MEANING)).to_be_visible(timeout=1000 * SECONDS)
    page.goto(f"{server}/claims?word=delta")
    expect(page.get_by_text(MEANING)).to_be_visible(timeout=1000 * SECONDS)
