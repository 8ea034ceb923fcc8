// Progressive enhancement: without this script the page is complete, and its forms are submitted as usual.
import { enhanceActions } from './actions.ts'
import { giveRoomBack } from './cards.ts'
import { keepLive } from './live.ts'
import { page } from './page.ts'
import { checkRecipients } from './recipient.ts'
import { offerSharing } from './share.ts'
import { ageTap, countDown, writeDates } from './times.ts'
import { offerWallets } from './wallets.ts'

/** Replaces a picture that cannot be loaded with its name in a plain box; browsers would show a broken-image icon. */
function watchPictures(): void {
  // Error events of pictures do not bubble.
  document.addEventListener('error', ({ target }) => replace(target), true)
  // It failed before this script began, or it is an SVG without a size, which can be decoded.
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

/** Videos start by themselves only if motion is welcome and data is not limited. They always have controls. */
function playVideos(): void {
  const isCalm = matchMedia('(prefers-reduced-motion: reduce)')
  const { connection } = navigator as { connection?: { saveData?: boolean } }
  const settle = () => {
    for (const video of document.querySelectorAll<HTMLVideoElement>('.hero video'))
      if (isCalm.matches || connection?.saveData) video.pause()
      // A browser that requires a press first shows the poster and the controls.
      else video.play().catch(() => undefined)
  }
  isCalm.addEventListener('change', settle)
  settle()
}

if (page) {
  enhanceActions()
  checkRecipients()
  offerWallets()
  writeDates()
  countDown()
  giveRoomBack()
  ageTap()
  keepLive()
}
playVideos()
watchPictures()
offerSharing()
