import { ask } from './live.ts'
import { now, word } from './page.ts'

const language = document.documentElement.lang

/** A page left open must not keep claiming that the chip was here just now. */
export function ageTap(): void {
  const sentence = document.querySelector<HTMLElement>('[data-later]')
  if (!sentence) return
  const { later = '', minutes = '' } = sentence.dataset
  const loadedAt = Date.now()
  const before = Number(minutes)
  const age = () => {
    const passed = before + Math.floor((Date.now() - loadedAt) / 60_000)
    if (passed <= before) return
    sentence.textContent = passed < 2 ? later : word('GenuineAgo').replace('{time}', () => ago(passed))
  }
  setInterval(age, 60_000)
  // Timers stop while a phone suspends the page.
  addEventListener('pageshow', age)
  document.addEventListener('visibilitychange', age)
}

function ago(minutes: number): string {
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'always' })
  if (minutes < 90) return relative.format(-minutes, 'minute')
  const hours = Math.round(minutes / 60)
  return hours < 48 ? relative.format(-hours, 'hour') : relative.format(-Math.round(hours / 24), 'day')
}

/** Writes dates in the phone's zone: the daemon knows that of nobody. */
export function writeDates(within: ParentNode = document): void {
  if (within === document) document.addEventListener('tapchip:shown', () => write(document))
  write(within)
}

function write(within: ParentNode): void {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short' })
  for (const time of within.querySelectorAll<HTMLTimeElement>('time[data-at]')) {
    const at = new Date(time.dataset.at ?? '')
    if (!Number.isNaN(at.getTime())) time.textContent = format.format(at)
  }
}

/** Runs countdowns by the daemon's clock, and asks for the result when one ends. */
export function countDown(): void {
  const asked = new Set<string>()
  // What the daemon said first, in seconds. The phone knows the daemon's time to the second only, so it would begin with more.
  const most = new Map<string, number>()
  let timer: ReturnType<typeof setTimeout> | undefined

  function tick(): void {
    clearTimeout(timer)
    const times = document.querySelectorAll<HTMLTimeElement>('time[data-until]')
    for (const time of times) {
      const until = time.dataset.until ?? ''
      const left = Date.parse(until) - now()
      if (Number.isNaN(left)) continue
      const limit = most.get(until) ?? secondsIn(time.textContent ?? '')
      most.set(until, limit)
      const text = spell(Math.min(limit, Math.max(0, Math.ceil(left / 1000))))
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
function spell(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  if (parts[0] === 0) parts.shift()
  return parts.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':')
}

const secondsIn = (text: string): number =>
  text.split(':').reduce((seconds, part) => seconds * 60 + Number(part), 0)
