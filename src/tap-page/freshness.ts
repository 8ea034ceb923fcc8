const freshMs = 60_000

/** A page that stays open must not go on saying that the chip was here just now. */
export function ageTap(): void {
  const sentence = document.querySelector<HTMLElement>('[data-later]')
  if (!sentence) return
  const loadedAt = Date.now()
  const age = () => {
    if (Date.now() - loadedAt >= freshMs) sentence.textContent = sentence.dataset.later ?? ''
  }
  setTimeout(age, freshMs)
  // Timers stand still while a phone keeps the page for later.
  addEventListener('pageshow', age)
  document.addEventListener('visibilitychange', age)
}
