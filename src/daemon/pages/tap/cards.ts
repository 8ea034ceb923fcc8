import { httpsUrl } from '../../../values/media-url.ts'
import type { Action, ActionKind, Failure, RecipientCheck, TapPage } from '../../domain/tap-page/content.ts'
import { type Html, html } from './html.ts'
import { ownerRow } from './item.ts'
import { mediaOf } from './media.ts'
import { moment } from './moment.ts'
import { type PageSettings, pathOf } from './settings.ts'
import { type Strings, stringsOf } from './strings/strings.ts'
import {
  brief,
  closedMessage,
  countdown,
  failureMessage,
  longestFailureMessage,
  party,
  shortened,
} from './wording.ts'

/** A part of the page that can change while it is open; `html` is the element with the key. */
export interface Card {
  key: string
  html: string
}

/** Everything that changes: the actions, the remaining time, and the owner. */
export function actionCards(content: TapPage, settings: PageSettings): Card[] {
  return [
    { key: 'owner', html: ownerRow(content, settings).text },
    { key: 'time', html: timeLine(content, settings).text },
    ...content.actions.map((action) => ({
      key: keyOf(action),
      html: actionCard(action, content, settings).text,
    })),
  ]
}

const keyOf = ({ kind, id }: Pick<Action, 'kind' | 'id'>): string => `${kind}-${id}`

/** ID of the element with the result; browsers without scripts scroll to it. */
export const resultId = (action: Pick<Action, 'kind' | 'id'>): string => `${keyOf(action)}-status`

export function timeLine({ endsAt, actions }: TapPage, settings: PageSettings): Html {
  const strings = stringsOf(settings)
  const remainingMs = Date.parse(endsAt) - settings.now.getTime()
  // If there is nothing to press, a clock would only worry people.
  const isOpen = actions.some(({ state }) => state.is === 'open')
  const text =
    remainingMs <= 0
      ? html`<span>${strings.timeOver}</span>`
      : html`<span class="ticks">${strings.timeLeft({ time: countdown(endsAt, settings.now) })}</span><span class="still">${strings.timeAtMost({ count: Math.max(1, Math.floor(remainingMs / 60_000)) })}</span>`
  return html`<p class="time" data-card="time"${roomFor(strings.timeLeft({ time: widestTime }))}${isOpen ? '' : hidden}>${actions.length > 0 ? text : ''}</p>`
}

/** Texts that may appear in place of another; the element is as high as the longest from the start: see style.ts. */
const roomFor = (text: Html, other?: Html): Html =>
  html` data-room="${text}"${other && html` data-room-too="${other}"`}`
const widestTime = html`0:00:00`

const hidden = html` hidden`

export function actionCard(action: Action, content: TapPage, settings: PageSettings): Html {
  const key = keyOf(action)
  const strings = stringsOf(settings)
  const title = strings.titles[action.kind]
  const number = stepOf(action, content)
  const heading = number ? strings.step({ number, title }) : title
  const picture = mediaOf(action.imageUrl, settings)
  return html`<section class="card" data-card="${key}" aria-labelledby="${key}-title">
<div class="top">${picture && html`<img class="artwork" src="${picture}" alt="" width="96" height="96" loading="lazy" referrerpolicy="no-referrer">`}
<div class="words">
<h2 id="${key}-title">${action.title === '' ? heading : html`<bdi>${brief(action.title, 300)}</bdi>`}</h2>
${action.title !== '' && html`<p class="kind">${heading}</p>`}
${action.description !== '' && html`<p class="said" dir="auto">${brief(action.description, 2000)}</p>`}
</div></div>
${body(action, content, settings)}
${moment(action, content, settings)}
</section>`
}

/** 1 or 2; undefined if one tap is enough. */
function stepOf({ kind }: Action, { actions }: TapPage): number | undefined {
  if (kind === 'register') return 1
  return kind === 'claim' && actions.some((other) => other.kind === 'register') ? 2 : undefined
}

function body(action: Action, content: TapPage, settings: PageSettings): Html {
  const { kind, state } = action
  const strings = stringsOf(settings)
  const to = (recipient: string | undefined) => (recipient ? party(recipient) : html`${strings.somebody}`)
  switch (state.is) {
    case 'open':
      return html`${form(action, content, settings, { recipient: state.recipient, failed: state.failure?.code })}
${room(action, settings, { idle: html`<p>${explain(action, content, strings)}</p>`, failure: state.failure, hasForm: true })}`
    case 'closed':
      return room(action, settings, {
        idle: html`<p>${closedMessage(state.reason, state.date, strings)}</p>`,
      })
    case 'registered':
      return registered(action, state, content, settings)
    case 'pending':
      return result(
        action,
        'pending',
        html`<p>${strings.pending[kind]({ to: to(state.recipient) })}</p><p class="soft">${strings.usually}</p>${transaction(state.transaction, strings)}<p class="still">${strings.loadAgain}</p>`,
      )
    case 'confirmed':
      return result(
        action,
        'confirmed',
        html`<p>${strings.confirmed[kind]({ to: to(state.recipient) })}</p>${transaction(state.transaction, strings)}`,
      )
    case 'failed':
      return room(action, settings, { failure: state.failure })
  }
}

function explain({ kind }: Action, { piece, actions }: TapPage, strings: Strings): string {
  if (kind !== 'claim') return strings.explain[kind]
  if (isLater({ kind }, actions)) return strings.explain.claimLater
  if (actions.some((other) => other.kind === 'register')) return strings.explain.claimStep
  return piece.kind === 'item' ? strings.explain.mint : strings.explain.claim
}

/** Most people do the first step now; only those who did it with an earlier tap can do the second. */
const isLater = ({ kind }: Pick<Action, 'kind'>, actions: readonly Action[]): boolean =>
  kind === 'claim' && actions.some((other) => other.kind === 'register' && other.state.is === 'open')

type Registered = Extract<Action['state'], { is: 'registered' }>

function registered(action: Action, state: Registered, content: TapPage, settings: PageSettings): Html {
  const { registered: texts, confirmed, somebody } = stringsOf(settings)
  const strings = stringsOf(settings)
  const { recipient, allowedAt, expiresAt, isSameTap, failure } = state
  const now = settings.now.getTime()
  const wait = Date.parse(allowedAt) - now
  const waiting = html`<span class="ticks">${texts.wait({ time: countdown(allowedAt, settings.now) })}</span><span class="still">${texts.waitWords({ count: Math.max(1, Math.ceil(wait / 60_000)) })}</span>`
  if (action.kind === 'register') {
    const owner = recipient ? party(recipient) : html`${somebody}`
    return result(action, 'confirmed', html`<p>${confirmed.register({ to: owner })}</p>`)
  }
  if (now >= Date.parse(expiresAt))
    return room(action, settings, { idle: html`<p>${texts.tooLate}</p>`, failure })
  if (isSameTap)
    return html`${wait > 0 && html`<p class="wait">${waiting}</p>`}
${room(action, settings, { idle: html`<p>${wait > 0 ? texts.thenTap : texts.nowTap}</p>`, failure })}`
  const until = html`<span class="ticks">${texts.until({ time: countdown(expiresAt, settings.now) })}</span>`
  return html`${form(action, content, settings, { recipient, failed: failure?.code, waits: wait > 0 })}
<p class="wait"${roomFor(texts.wait({ time: widestTime }), texts.until({ time: widestTime }))}>${wait > 0 ? waiting : until}</p>
${room(action, settings, { idle: html`<p>${explain(action, content, strings)}</p>`, failure, hasForm: true })}`
}

interface FormState {
  recipient: string | undefined
  failed: string | undefined
  /** The button cannot be pressed yet. */
  waits?: boolean
}

function form(
  action: Action,
  { ref, query, actions }: TapPage,
  settings: PageSettings,
  filled: FormState,
): Html {
  const { kind, id, takesDevice } = action
  const key = keyOf(action)
  const strings = stringsOf(settings)
  const isWrong = filled.failed === 'recipient_invalid' || filled.failed === 'invalid_input'
  return html`<form data-action="${kind}" method="post" action="${pathOf(settings, `/t/act#${resultId(action)}`)}" autocomplete="on">
<input type="hidden" name="ref" value="${ref}"><input type="hidden" name="kind" value="${kind}"><input type="hidden" name="id" value="${id}"><input type="hidden" name="tap" value="${query}">${takesDevice && html`<input type="hidden" name="deviceId" value="">`}
<label for="${key}-recipient">${kind === 'badge' ? strings.recipientOrEmail : strings.recipient}</label>
<div class="field" dir="ltr"><input id="${key}-recipient" name="recipient" placeholder="${kind === 'badge' ? strings.recipientOrEmailHint : strings.recipientHint}" value="${filled.recipient?.slice(0, 255)}" required maxlength="255" autocapitalize="none" autocorrect="off" spellcheck="false" enterkeyhint="send" aria-describedby="${key}-check ${resultId(action)}"${isWrong && html` aria-invalid="true"`}><div data-wallets></div></div>
<button type="submit"${isLater(action, actions) && html` class="quiet"`}${filled.waits && html` disabled`}>${strings.buttons[kind]}</button>
${filled.waits && html`<p class="hint still">${strings.registered.reload}</p>`}
</form>`
}

type ShownState = 'pending' | 'confirmed' | 'failed'

/** Present in every card from the start: screen readers announce only elements that existed before their text. */
const status = (action: Action, shown?: ShownState, content?: Html): Html =>
  html`<div role="status" id="${resultId(action)}" tabindex="-1"${shown && html` data-state="${shown}"`}>${content}</div>`

const result = (action: Action, shown: ShownState, content: Html): Html =>
  html`<div class="room">${status(action, shown, content)}</div>`

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
function room(action: Action, settings: PageSettings, { idle, failure, hasForm = false }: Room): Html {
  const strings = stringsOf(settings)
  const message = failure && html`<p>${failureMessage(failure, strings)}</p>`
  const kept =
    hasForm && roomFor(html`${longestFailureMessage(strings)}`, checkMessage(action.kind, strings, longName))
  return html`<div class="room"${kept}>${status(action, failure && 'failed', message)}${hasForm && html`<p data-check id="${keyOf(action)}-check" aria-live="polite"></p>`}${idle && html`<div class="explain">${idle}</div>`}</div>`
}

/** A name takes at most one line of its own. */
const longName = html`&#10;0&#10;(0x0000…0000)`

function transaction(view: { hash: string; url: string | undefined } | undefined, strings: Strings): Html {
  if (!view) return html``
  const hash = html`<bdi class="address" title="${brief(view.hash, 100)}">${shortened(view.hash)}</bdi>`
  const url = view.url && httpsUrl(view.url)
  return url
    ? html`<p><a href="${url}" rel="noreferrer noopener" target="_blank">${strings.explorer}</a></p>`
    : html`<p class="soft">${strings.transaction({ hash })}</p>`
}

/** Describes the effect and the recipient before anything is sent. HTML for inside the element. */
export function checkLine(check: RecipientCheck, settings: PageSettings): string {
  const strings = stringsOf(settings)
  if (check.is === 'bad') return html`${failureMessage(check.failure, strings)}`.text
  const { address, name } = check.recipient
  const parts = [name, address].flatMap((part) => (part === undefined ? [] : [party(part)]))
  const [first = html`${strings.check.thisEmail}`, second] = parts
  const to = second ? html`${first} (${second})` : first
  return checkMessage(check.isMint && check.kind === 'claim' ? 'mint' : check.kind, strings, to).text
}

const checkMessage = (kind: ActionKind | 'mint', { check, buttons }: Strings, to: Html): Html =>
  check[kind]({ button: buttons[kind === 'mint' ? 'claim' : kind], to })
