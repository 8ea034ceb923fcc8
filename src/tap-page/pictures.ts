/** A picture that cannot be loaded becomes its name in a calm box; browsers would show a torn sheet of paper. */
export function watchPictures(): void {
  // Errors of pictures do not bubble.
  document.addEventListener('error', ({ target }) => replace(target), true)
  // It failed before this script began, or it is a drawing without a size, which can be decoded.
  for (const picture of document.images)
    if (picture.complete && picture.naturalWidth === 0) picture.decode().catch(() => replace(picture))
}

function replace(target: EventTarget | null): void {
  if (!(target instanceof HTMLImageElement)) return
  const box = document.createElement('div')
  box.className = `${target.className} broken`
  box.textContent = target.alt
  target.replaceWith(box)
}
