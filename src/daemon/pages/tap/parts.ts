import { httpsUrl } from '../../../values/media-url.ts'
import {
  type Action,
  type ActionName,
  type ActionState,
  type Failure,
  keyOf,
} from '../../domain/tap-page/content.ts'
import { longestCheckMessage } from './check-message.ts'
import { type Html, html } from './html.ts'
import type { PageSettings } from './settings.ts'
import { type Strings, stringsOf } from './strings/strings.ts'
import { widestDate } from './times.ts'
import { brief, closedMessage, failureMessage, longFailureMessages, shortened } from './wording.ts'

// What the cards of single actions and the one of several have in common.

/** ID of the element with the result; browsers without scripts scroll to it. */
export const resultId = (action: ActionName): string => `${keyOf(action)}-status`

/** Texts that may appear in place of another; the element is as high as the longest from the start: see style.ts. */
export const roomFor = (text: Html, other?: Html): Html =>
  html` data-room="${text}"${other && html` data-room-too="${other}"`}`

/** Room in a `.room` for whatever a form may be refused with. */
export function roomForFailures(strings: Strings): Html {
  const known = failureRooms.get(strings)
  if (known) return known
  const texts = longFailureMessages(strings).map((text) => html`${text}`)
  const made = html`${texts.map((text, index) => index % 2 === 0 && html`<span${roomFor(text, texts[index + 1])}></span>`)}`
  failureRooms.set(strings, made)
  return made
}
const failureRooms = new WeakMap<Strings, Html>()

export type ShownState = 'pending' | 'confirmed' | 'failed'

/** Present in every card from the start: screen readers announce only elements that existed before their text. */
export const status = (id: string, shown?: ShownState, content?: Html): Html =>
  html`<div role="status" id="${id}" tabindex="-1"${shown && html` data-state="${shown}"`}>${content}</div>`

export const result = (action: Action, shown: ShownState, content: Html): Html =>
  html`<div class="room">${status(resultId(action), shown, content)}</div>`

interface Room {
  /** Shown while there is no result. */
  idle?: Html
  failure?: Failure | undefined
  /** Inputs are validated, and actions can be refused. */
  hasForm?: boolean
}

/**
 * All messages of a card about input and results, one at a time, below the button. The place is fixed: a button or a
 * field that moved when a line appeared would escape the finger on its way.
 */
export function room(action: Action, settings: PageSettings, { idle, failure, hasForm = false }: Room): Html {
  const strings = stringsOf(settings)
  const message = failure && html`<p>${failureMessage(failure, strings)}</p>`
  const kept = hasForm && roomFor(longestCheckMessage(action, settings))
  return html`<div class="room"${kept}>${hasForm && roomForFailures(strings)}${status(resultId(action), failure && 'failed', message)}${hasForm && html`<p data-check id="${keyOf(action)}-check" aria-live="polite"></p>`}${idle && html`<div class="explain">${idle}</div>`}</div>`
}

/** Why an action cannot be done. The script writes a date anew, in the phone's zone, which may be shorter. */
export function closedLine(
  { reason, date }: Extract<ActionState, { is: 'closed' }>,
  settings: PageSettings,
): Html {
  const text = closedMessage(reason, date, settings)
  if (reason !== 'future' || !date) return html`<p>${text}</p>`
  const widest = stringsOf(settings).closed.future({ date: html`${widestDate(settings)}` })
  return html`<p${roomFor(widest)}><span>${text}</span></p>`
}

/** Another tab's recipient was first: what the page shows is not this one's. */
export const tooLate = (failure: Failure | undefined, strings: Strings): Html =>
  html`${failure && html`<p data-too-late>${failureMessage(failure, strings)}</p>`}`

export function transaction(
  view: { hash: string; url: string | undefined } | undefined,
  strings: Strings,
): Html {
  if (!view) return html``
  const hash = html`<bdi class="address" title="${brief(view.hash, 100)}">${shortened(view.hash)}</bdi>`
  const url = view.url && httpsUrl(view.url)
  return url
    ? html`<p><a href="${url}" rel="noreferrer noopener" target="_blank">${strings.explorer}</a></p>`
    : html`<p class="soft">${strings.transaction({ hash })}</p>`
}

interface Field {
  /** The card's. */
  key: string
  label: string
  hint: string
  value: string | undefined
  /** IDs of elements that say more about a wrong value. */
  says?: string
  isWrong: boolean
}

/** The one visible field of a form. A wallet's button is inside it. */
export const recipientField = ({ key, label, hint, value, says = '', isWrong }: Field): Html =>
  html`<label id="${key}-label" for="${key}-recipient">${label}</label>
<div class="field" dir="ltr"><input id="${key}-recipient" name="recipient" placeholder="${hint}" value="${value?.slice(0, 255)}" required maxlength="255" autocapitalize="none" autocorrect="off" spellcheck="false" enterkeyhint="send" aria-describedby="${key}-check ${key}-status${says}"${isWrong && html` aria-invalid="true"`}><div data-wallets></div></div>`

export const isWrongRecipient = (failed: string | undefined): boolean =>
  failed === 'recipient_invalid' || failed === 'invalid_input'
