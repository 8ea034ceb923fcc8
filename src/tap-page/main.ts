// Progressive enhancement: without this script the page is complete, and its forms are submitted as usual.
import { enhanceActions } from './actions.ts'
import { giveRoomBack } from './cards.ts'
import { ask, keepLive } from './live.ts'
import { now, page } from './page.ts'
import { checkRecipients } from './recipient.ts'
import { offerSharing } from './share.ts'
import { offerWallets } from './wallets.ts'

const freshMs = 60_000

/** A page left open must not keep claiming that the chip was here just now. */
function ageTap(): void {
  const sentence = document.querySelector<HTMLElement>('[data-later]')
  if (!sentence) return
  const loadedAt = Date.now()
  const age = () => {
    if (Date.now() - loadedAt >= freshMs) sentence.textContent = sentence.dataset.later ?? ''
  }
  setTimeout(age, freshMs)
  // Timers stop while a phone suspends the page.
  addEventListener('pageshow', age)
  document.addEventListener('visibilitychange', age)
}

/** Runs countdowns by the daemon's clock, and asks for the result when one ends. */
function countDown(): void {
  const asked = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined

  function tick(): void {
    clearTimeout(timer)
    const times = document.querySelectorAll<HTMLTimeElement>('time[data-until]')
    for (const time of times) {
      const until = time.dataset.until ?? ''
      const left = Date.parse(until) - now()
      if (Number.isNaN(left)) continue
      const text = spell(left)
      if (time.textContent !== text) time.textContent = text
      // A second late, because the daemon's time is known only to the second.
      if (left < -1000 && !asked.has(until)) {
        asked.add(until)
        ask()
      }
    }
    if (times.length > 0 && !document.hidden) timer = setTimeout(tick, 1000 - (now() % 1000))
  }
  for (const event of ['tapchip:shown', 'visibilitychange']) document.addEventListener(event, tick)
  tick()
}

/** 1:02:03, or 2:03 */
function spell(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  if (parts[0] === 0) parts.shift()
  return parts.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':')
}

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
  countDown()
  giveRoomBack()
  ageTap()
  keepLive()
}
playVideos()
watchPictures()
offerSharing()
