/** Buttons that share an address, through the phone's own sheet, else by copying it; and those that print the page. */
export function offerSharing(): void {
  document.addEventListener('click', ({ target }) => {
    const button = target instanceof Element ? target.closest('button') : null
    const place = button?.closest<HTMLElement>('[data-share]')
    if (place) void share(place)
    if (button?.hasAttribute('data-print')) window.print()
  })
}

async function share(place: HTMLElement): Promise<void> {
  const { share: url = '', title = document.title, copied = '', failed = '' } = place.dataset
  const say = (text: string) => {
    const status = place.querySelector('[aria-live]')
    if (status) status.textContent = text
  }
  say('')
  if (navigator.share)
    try {
      return await navigator.share({ title, url })
    } catch (error) {
      // Closed by the person.
      if (error instanceof DOMException && error.name === 'AbortError') return
    }
  try {
    // Only there over https.
    await navigator.clipboard.writeText(url)
    say(copied)
  } catch {
    say(failed)
  }
}
