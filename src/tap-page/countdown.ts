import { ask } from './live.ts'
import { now } from './page.ts'

/** Lets what ends or opens at a time count down to it, by the daemon's clock, and then asks what came of it. */
export function countDown(): void {
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
      // A second late, since the daemon's time is known no better.
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
