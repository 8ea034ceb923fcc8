import type { Action, ClosedReason, Failure, InvalidRecipient } from '../../domain/tap-page/content.ts'
import { type Html, html } from './html.ts'
import type { PageSettings } from './settings.ts'
import { type Strings, stringsOf } from './strings/strings.ts'
import { dateAndTime } from './times.ts'

/** A short form of an address, with the full one on demand; a name is shown unchanged. */
export function party(text: string): Html {
  if (!/^0x[0-9a-f]{40}$/i.test(text)) return html`<bdi class="name">${brief(text, 255)}</bdi>`
  return html`<bdi class="address" title="${text}">${shortened(text)}</bdi>`
}

/** @param hex 0x and at least 10 digits */
export const shortened = (hex: string): string => `${hex.slice(0, 6)}…${hex.slice(-4)}`

/** Both the name that was typed and where it leads, or the one that is known; undefined: neither. */
export const partyOf = (recipient: string | undefined, name: string | undefined): Html | undefined => {
  if (name === undefined || name === recipient) return recipient ? party(recipient) : undefined
  return recipient ? html`${party(name)} (${party(recipient)})` : party(name)
}

/** What an action is called; of a closed one there is nothing to press. */
export const titleOfAction = (
  { kind, state }: Pick<Action, 'kind' | 'state'>,
  { titles, closedTitles }: Strings,
): string => (state.is === 'closed' ? closedTitles : titles)[kind]

export const tryAgainIn = (seconds: number, { tryAgainIn: texts }: Strings): string =>
  seconds < 90
    ? texts.seconds({ count: seconds })
    : seconds < 5400
      ? texts.minutes({ count: Math.ceil(seconds / 60) })
      : texts.hours({ count: Math.ceil(seconds / 3600) })

/** @param day YYYY-MM-DD, which begins and ends in UTC */
export function closedMessage(reason: ClosedReason, day: string | undefined, settings: PageSettings): Html {
  const { closed } = stringsOf(settings)
  if (reason === 'future')
    return day
      ? closed.future({ date: dateAndTime(`${day}T00:00:00Z`, settings) })
      : html`${closed.futureUndated}`
  if (reason === 'over') return html`${day ? closed.over({ day }) : closed.overUndated}`
  return html`${closed[reason]}`
}

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
export const longestFailureMessage = (strings: Strings): string => longFailureMessages(strings)[0] ?? ''

const long = new WeakMap<Strings, string[]>()

/** The longest texts that keep a form on the page: which of them takes most lines depends on where they break. */
export function longFailureMessages(strings: Strings): string[] {
  const known = long.get(strings)
  if (known) return known
  const made = longestOf(strings)
  long.set(strings, made)
  return made
}

function longestOf({ failures, mistyped }: Strings): string[] {
  const { reverted, cancelled, ...refusals } = failures
  const { wrongLength, ...others } = mistyped
  const texts = [...Object.values(refusals), ...Object.values(others), wrongLength({ count: 999 })]
  return texts.sort((one, other) => other.length - one.length).slice(0, 4)
}
