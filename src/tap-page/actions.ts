import { say, show } from './cards.ts'
import { follow } from './live.ts'
import { isAnswer, post, word } from './page.ts'

/** Longer than the daemon takes to answer. */
const patienceMs = 40_000

/** The message for a response without cards. */
const refusals: Record<number, string> = { 429: 'Busy', 503: 'Busy' }
/** The page has expired; reloading it shows why. */
const over = [404, 410]

/** Sends the page's forms without leaving it. Resending a form changes nothing, because the daemon knows its tap. */
export function enhanceActions(): void {
  document.addEventListener('submit', (event) => {
    const form = event.target
    if (!(form instanceof HTMLFormElement) || form.dataset.action === undefined) return
    event.preventDefault()
    if (form.getAttribute('aria-busy') !== 'true') void send(form)
  })
}

async function send(form: HTMLFormElement): Promise<void> {
  const device = form.elements.namedItem('deviceId')
  if (device instanceof HTMLInputElement) device.value = deviceId()
  const fields = [...new FormData(form)].map(([name, value]): [string, string] => [name, String(value)])
  setBusy(form, true)
  say(form, word('Sending'))
  const ended = new AbortController()
  const timer = setTimeout(() => ended.abort(), patienceMs)
  try {
    // An action counts even if the person leaves the page at once.
    const answer = await post(form.action, fields, { signal: ended.signal, keepalive: true })
    const body: unknown = await answer.json().catch(() => undefined)
    setBusy(form, false)
    if (over.includes(answer.status)) return location.reload()
    if (!isAnswer(body)) return say(form, word(wordFor(answer.status, body)), 'failed')
    show(body, true)
    if (body.isLive) follow()
  } catch {
    setBusy(form, false)
    say(form, word('Offline'), 'failed')
  } finally {
    clearTimeout(timer)
  }
}

const wordFor = (status: number, body: unknown): string =>
  Object(body).code === 'outcome_unknown' ? 'Unknown' : (refusals[status] ?? 'Failed')

/** Not `disabled`, which would remove the focus. */
function setBusy(form: HTMLFormElement, isBusy: boolean): void {
  for (const element of [form, form.querySelector('[type=submit]')])
    if (isBusy) element?.setAttribute(element === form ? 'aria-busy' : 'aria-disabled', 'true')
    else element?.removeAttribute(element === form ? 'aria-busy' : 'aria-disabled')
}

const key = 'tapchip-device'

/** This browser's random name, stored in it; empty if it cannot store anything. */
function deviceId(): string {
  try {
    const known = localStorage.getItem(key)
    if (known && /^[0-9a-f]{32}$/.test(known)) return known
    const bytes = crypto.getRandomValues(new Uint8Array(16))
    const made = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
    localStorage.setItem(key, made)
    return made
  } catch {
    return ''
  }
}
