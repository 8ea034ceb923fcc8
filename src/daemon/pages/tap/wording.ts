import type { ClosedReason, Failure, InvalidRecipient } from '../../domain/tap-page/content.ts'
import { type Html, html } from './html.ts'
import type { Strings } from './strings/strings.ts'

/** A short form of an address, with the full one on demand; a name is shown unchanged. */
export function party(text: string): Html {
  if (!/^0x[0-9a-f]{40}$/i.test(text)) return html`<bdi class="name">${brief(text, 255)}</bdi>`
  return html`<bdi class="address" title="${text}">${shortened(text)}</bdi>`
}

/** @param hex 0x and at least 10 digits */
export const shortened = (hex: string): string => `${hex.slice(0, 6)}…${hex.slice(-4)}`

/** @param seconds the script counts them down in the same format */
export const clockTime = (seconds: number): string => {
  const rounded = Math.max(0, Math.ceil(seconds))
  const [hours, minutes] = [Math.floor(rounded / 3600), Math.floor(rounded / 60) % 60]
  const rest = String(rounded % 60).padStart(2, '0')
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`
}

/** @param until ISO 8601 */
export const countdown = (until: string, now: Date): Html =>
  html`<time datetime="${until}" data-until="${until}">${clockTime((Date.parse(until) - now.getTime()) / 1000)}</time>`

export const tryAgainIn = (seconds: number, { tryAgainIn: texts }: Strings): string =>
  seconds < 90
    ? texts.seconds({ count: seconds })
    : seconds < 5400
      ? texts.minutes({ count: Math.ceil(seconds / 60) })
      : texts.hours({ count: Math.ceil(seconds / 3600) })

/** @param day YYYY-MM-DD */
export const closedMessage = (reason: ClosedReason, day: string | undefined, { closed }: Strings): string =>
  reason === 'future' || reason === 'over'
    ? day
      ? closed[reason]({ day })
      : closed[`${reason}Undated`]
    : closed[reason]

/** Keeps the page small enough for a phone, whatever a team writes. */
export const brief = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length).replace(/[\ud800-\udbff]$/, '')}…` : text

function invalidRecipientMessage(
  mistyped: InvalidRecipient,
  { mistyped: messages, failures }: Strings,
): string | undefined {
  switch (mistyped.is) {
    case 'unknown-name':
      return messages.unknownName
    case 'wrong-address':
      return messages.wrongAddress
    case 'other-chain':
      return messages.otherChain
    case 'wrong-length':
      return messages.wrongLength({ count: mistyped.count })
    case 'badge':
      return messages.badge
    case 'other':
      return failures.recipient_invalid
  }
}

/** The page's own text for a failure: those of the interface are for developers. */
export function failureMessage({ code, retryAfterSeconds, mistyped }: Failure, strings: Strings): string {
  const { failures } = strings
  const ofForm = mistyped && invalidRecipientMessage(mistyped, strings)
  const message = Object.hasOwn(failures, code) ? failures[code as keyof typeof failures] : undefined
  const later = retryAfterSeconds === undefined ? '' : ` ${tryAgainIn(retryAfterSeconds, strings)}`
  return `${ofForm ?? message ?? failures.otherwise}${later}`
}

/** The longest text that keeps a form on the page. */
export function longestFailureMessage({ failures, mistyped }: Strings): string {
  const { reverted, cancelled, ...refusals } = failures
  const { wrongLength, ...others } = mistyped
  const texts = [...Object.values(refusals), ...Object.values(others), wrongLength({ count: 999 })]
  return texts.reduce((longest, text) => (text.length > longest.length ? text : longest), '')
}
