import { type Action, keyOf, type RecipientCheck, type TapPage } from '../../domain/tap-page/content.ts'
import { descriptionOf } from './budget.ts'
import { checkMessage, registerMessage } from './check-message.ts'
import { collectCard, collectedActions, collectKey } from './collect.ts'
import { explain, isLater } from './explain.ts'
import { type Html, html } from './html.ts'
import { ownerRow } from './item.ts'
import { mediaOf } from './media.ts'
import { moment } from './moment.ts'
import {
  closedLine,
  isWrongRecipient,
  recipientField,
  result,
  resultId,
  room,
  roomFor,
  tooLate,
  transaction,
} from './parts.ts'
import { reserveCard } from './reserve.ts'
import { type PageSettings, pathOf } from './settings.ts'
import { stringsOf } from './strings/strings.ts'
import { dateAndTime, holding, opening, timeLeft, widestTime } from './times.ts'
import { brief, failureMessage, party, partyOf, titleOfAction } from './wording.ts'

/** A part of the page that can change while it is open; `html` is the element with the key. */
export interface Card {
  key: string
  html: string
}

/** Everything that changes: the actions, the remaining time, and the owner. */
export function actionCards(content: TapPage, plain: PageSettings): Card[] {
  const settings = { ...plain, ownWords: content.ownWords }
  return [
    { key: 'owner', html: ownerRow(content, settings).text },
    { key: 'time', html: timeLine(content, settings).text },
    ...cardsOfActions(content, settings).map(({ key, card }) => ({ key, html: card.text })),
    ...(content.reserve ? [{ key: 'reserve-0', html: reserveCard(content, settings).text }] : []),
  ]
}

/** The one for several actions comes first, because it is what most people want. */
export function cardsOfActions(content: TapPage, settings: PageSettings): { key: string; card: Html }[] {
  const together = collectedActions(content)
  const collect =
    together.length > 0 ? [{ key: collectKey, card: collectCard(together, content, settings) }] : []
  const single = content.actions.filter((action) => !together.includes(action))
  return [
    ...collect,
    ...single.map((action) => ({ key: keyOf(action), card: actionCard(action, content, settings) })),
  ]
}

export function timeLine({ endsAt, actions }: TapPage, settings: PageSettings): Html {
  const strings = stringsOf(settings)
  const remainingMs = Date.parse(endsAt) - settings.now.getTime()
  // If there is nothing to press, a clock would only worry people.
  const isOpen = actions.some(({ state }) => state.is === 'open')
  const text = remainingMs <= 0 ? html`<span>${strings.timeOver}</span>` : timeLeft(endsAt, settings)
  return html`<p class="time" data-card="time"${roomFor(strings.timeLeft({ time: widestTime }))}${isOpen ? '' : hidden}>${actions.length > 0 ? text : ''}</p>`
}

const hidden = html` hidden`

export function actionCard(action: Action, content: TapPage, settings: PageSettings): Html {
  const key = keyOf(action)
  const strings = stringsOf(settings)
  const title = titleOfAction(action, strings)
  const number = stepOf(action, content)
  const heading = number ? strings.step({ number, title }) : title
  const picture = mediaOf(action.imageUrl, settings)
  return html`<section class="card" data-card="${key}" aria-labelledby="${key}-title">
<div class="top">${picture && html`<img class="artwork" src="${picture}" alt="" width="96" height="96" loading="lazy" referrerpolicy="no-referrer">`}
<div class="words">
<h2 id="${key}-title">${action.title === '' ? heading : html`<bdi>${brief(action.title, 300)}</bdi>`}</h2>
${action.title !== '' && html`<p class="kind">${heading}</p>`}
${action.description !== '' && html`<p class="said" dir="auto">${descriptionOf(action, content.actions.length)}</p>`}
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
  const to = (recipient: string | undefined) => partyOf(recipient, action.name) ?? html`${strings.somebody}`
  switch (state.is) {
    case 'open':
      return html`${form(action, content, settings, { recipient: state.recipient, failed: state.failure?.code })}
${room(action, settings, { idle: explain(action, content, strings), failure: state.failure, hasForm: true })}`
    case 'closed':
      return room(action, settings, { idle: closedLine(state, settings) })
    case 'registered':
      return registered(action, state, content, settings)
    case 'pending':
      return result(
        action,
        'pending',
        html`<p>${strings.pending[kind]({ to: to(state.recipient) })}</p>${tooLate(state.failure, strings)}<p class="soft">${strings.usually}</p>${transaction(state.transaction, strings)}<p class="still">${strings.loadAgain}</p>`,
      )
    case 'confirmed':
      return result(
        action,
        'confirmed',
        html`<p>${strings.confirmed[kind]({ to: to(state.recipient) })}</p>${tooLate(state.failure, strings)}${transaction(state.transaction, strings)}`,
      )
    case 'failed':
      return room(action, settings, { failure: state.failure })
  }
}

type Registered = Extract<Action['state'], { is: 'registered' }>

function registered(action: Action, state: Registered, content: TapPage, settings: PageSettings): Html {
  const strings = stringsOf(settings)
  const { registered: texts, confirmed, somebody } = strings
  const { recipient, registeredAt, allowedAt, expiresAt, isSameTap, failure } = state
  const now = settings.now.getTime()
  const waits = Date.parse(allowedAt) > now
  const waiting = opening(allowedAt, settings)
  if (action.kind === 'register') {
    const to = partyOf(recipient, action.name) ?? html`${somebody}`
    const isKept = registeredAt < content.tappedAt
    const since = isKept ? texts.kept({ date: dateAndTime(registeredAt, settings) }) : texts.anew
    const how = isSameTap && waits && html`<p class="soft">${since}</p>`
    return result(
      action,
      'confirmed',
      html`<p>${confirmed.register({ to })}</p>${tooLate(failure, strings)}${how}`,
    )
  }
  if (now >= Date.parse(expiresAt))
    return room(action, settings, { idle: html`<p>${texts.tooLate}</p>`, failure })
  const file = waits && content.calendar && pathOf(settings, `/t/opens.ics?${content.calendar}`)
  const calendar = file && html`<p><a href="${file}" type="text/calendar">${texts.calendar}</a></p>`
  if (isSameTap)
    return html`${waits && html`<p class="wait">${waiting}</p>`}
${room(action, settings, { idle: html`<p>${waits ? texts.thenTap : texts.nowTap}</p>`, failure })}
${calendar}`
  return html`${form(action, content, settings, { recipient, failed: failure?.code, waits })}
<p class="wait"${roomFor(texts.wait({ time: widestTime }), texts.until({ time: widestTime }))}>${waits ? waiting : holding(expiresAt, settings)}</p>
${room(action, settings, { idle: explain(action, content, strings), failure, hasForm: true })}
${calendar}`
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
  const isBadge = kind === 'badge'
  const field = recipientField({
    key,
    label: isBadge ? strings.recipientOrEmail : strings.recipient,
    hint: isBadge ? strings.recipientOrEmailHint : strings.recipientHint,
    value: filled.recipient,
    isWrong: isWrongRecipient(filled.failed),
  })
  return html`<form data-action="${kind}" method="post" action="${pathOf(settings, `/t/act#${resultId(action)}`)}" autocomplete="on">
<input type="hidden" name="ref" value="${ref}"><input type="hidden" name="kind" value="${kind}"><input type="hidden" name="id" value="${id}"><input type="hidden" name="tap" value="${query}">${takesDevice && html`<input type="hidden" name="deviceId" value="">`}
${field}
<button type="submit"${isLater(action, actions) && html` class="quiet"`}${filled.waits && html` disabled`}>${strings.buttons[kind]}</button>
${filled.waits && html`<p class="hint still">${strings.registered.reload}</p>`}
</form>`
}

/** Describes the effect and the recipient before anything is sent. HTML for inside the element. */
export function checkLine(check: RecipientCheck, settings: PageSettings): string {
  const strings = stringsOf(settings)
  if (check.is === 'bad')
    return html`${check.of && html`${strings.titles[check.of]}: `}${failureMessage(check.failure, strings)}`
      .text
  const { address, name } = check.recipient
  const parts = [name, address].flatMap((part) => (part === undefined ? [] : [party(part)]))
  const [first = html`${strings.check.thisEmail}`, second] = parts
  const to = second ? html`${first} (${second})` : first
  if (check.wait) return registerMessage(check.wait, settings, to).text
  return checkMessage(check.isMint && check.kind === 'claim' ? 'mint' : check.kind, strings, to).text
}
