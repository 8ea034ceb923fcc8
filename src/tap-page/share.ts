/** Shows the buttons that share an address: through the phone's own sheet, else by copying it. */
export function offerSharing(): void {
  for (const place of document.querySelectorAll<HTMLElement>('[data-share]')) {
    place.hidden = false
    place.querySelector('button')?.addEventListener('click', () => void share(place))
  }
}

async function share(place: HTMLElement): Promise<void> {
  const { share: url = '', title = document.title, copied = '', failed = '' } = place.dataset
  const say = (text: string) => {
    const status = place.querySelector('[role=status]')
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
