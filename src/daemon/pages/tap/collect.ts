import { type Action, collectable, keyOf, type TapPage } from '../../domain/tap-page/content.ts'
import { descriptionOf } from './budget.ts'
import { checkMessage, longName } from './check-message.ts'
import { explain } from './explain.ts'
import { type Html, html } from './html.ts'
import { mediaOf } from './media.ts'
import { moment } from './moment.ts'
import {
  closedLine,
  isWrongRecipient,
  recipientField,
  resultId,
  roomFor,
  roomForFailures,
  type ShownState,
  status,
  tooLate,
  transaction,
} from './parts.ts'
import { type PageSettings, pathOf } from './settings.ts'
import { type Strings, stringsOf } from './strings/strings.ts'
import { brief, failureMessage, partyOf, titleOfAction } from './wording.ts'

export const collectKey = 'collect'

/** The page as it is to be loaded: several open actions share a form. */
export const laidOut = (content: TapPage): TapPage =>
  content.collected || collectable(content.actions).filter(isOpen).length < 2
    ? content
    : { ...content, collected: {} }

/**
 * The actions of the page's shared form, if it has one. Those that are not open are listed in it with their state, so
 * that nothing on an open page changes its place.
 */
export const collectedActions = ({ actions, collected }: TapPage): Action[] =>
  collected ? collectable(actions) : []

const isOpen = ({ state }: Action): boolean => state.is === 'open'

/** One field, a choice of what to collect, and one button; each action has its own result. */
export function collectCard(shown: readonly Action[], content: TapPage, settings: PageSettings): Html {
  const { ref, query, collected } = content
  const strings = stringsOf(settings)
  const open = shown.filter(isOpen)
  const refused = shown.filter(({ state }) => 'failure' in state && state.failure)
  const rows = shown.map((action) => row(action, content, settings))
  const { recipient = recipientOf(open) } = collected ?? {}
  const isForBadges = shown.every(({ kind }) => kind === 'badge')
  const field = recipientField({
    key: collectKey,
    label: isForBadges ? strings.recipientOrEmail : strings.recipient,
    hint: isForBadges ? strings.recipientOrEmailHint : strings.recipientHint,
    value: recipient,
    says: refused.map((action) => ` ${resultId(action)}`).join(''),
    isWrong: refused.some(({ state }) => 'failure' in state && isWrongRecipient(state.failure?.code)),
  })
  const hasClaim = open.some(({ kind }) => kind === 'claim')
  const form = html`<input type="hidden" name="ref" value="${ref}"><input type="hidden" name="kind" value="collect"><input type="hidden" name="tap" value="${query}">${open.some(({ takesDevice }) => takesDevice) && html`<input type="hidden" name="deviceId" value="">`}
${choices(rows, strings)}
${field}
<button type="submit">${strings.buttons.collect}</button>`
  const claim = shown.find(({ kind }) => kind === 'claim')
  const all =
    open.length === 0
      ? choices(rows, strings)
      : html`<form data-action="collect" method="post" action="${pathOf(settings, `/t/act#${collectKey}`)}" autocomplete="on">${form}</form>
<div class="room"${roomFor(checkMessage(hasClaim ? 'collectClaim' : 'collect', strings, longName))}>${roomForFailures(strings)}${summary(content, refused, strings)}<p data-check id="${collectKey}-check" aria-live="polite"></p><div class="explain"><p>${strings.collect.explain}</p></div></div>`
  return html`<section class="card" id="${collectKey}" data-card="${collectKey}" aria-labelledby="${collectKey}-title">
<h2 id="${collectKey}-title">${strings.collect.title}</h2>
${all}
${claim && moment(claim, content, settings, open.length > 0)}
</section>`
}

const recipientOf = (open: readonly Action[]): string | undefined =>
  open.flatMap(({ state }) => (state.is === 'open' && state.recipient ? [state.recipient] : []))[0]

/** What the card says as a whole; each action has its own result. */
function summary({ collected }: TapPage, refused: readonly Action[], { collect }: Strings): Html {
  const id = `${collectKey}-status`
  if (refused.length > 0) return status(id, undefined, html`<p>${collect.partly}</p>`)
  if (collected?.chosen?.length !== 0) return status(id)
  return status(id, 'failed', html`<p>${collect.nothing}</p>`)
}

const choices = (rows: readonly Html[], { collect }: Strings): Html =>
  html`<ul class="choices" aria-label="${collect.title}">${rows}</ul>`

function row(action: Action, content: TapPage, settings: PageSettings): Html {
  const { kind, title } = action
  const key = keyOf(action)
  const strings = stringsOf(settings)
  const { chosen } = content.collected ?? {}
  const isChosen = !chosen || chosen.some((one) => keyOf(one) === key)
  const longest = (state: 'pending' | 'confirmed') =>
    html`✓ ${strings[state][kind]({ to: longName })}&#10;${strings.explorer}`
  const kept = isOpen(action) && roomFor(longest('pending'), longest('confirmed'))
  const [shown, text] = outcome(action, strings)
  return html`<li data-card="${key}">
<div class="choice">${isOpen(action) && html`<input type="checkbox" id="${key}-choice" name="choice" value="${key}" aria-labelledby="${key}-title"${isChosen && html` checked`}>`}<h2 id="${key}-title">${title === '' ? titleOfAction(action, strings) : html`<bdi>${brief(title, 300)}</bdi>`}</h2>${isOpen(action) && html`<label for="${key}-choice"></label>`}</div>
<div class="room"${kept}>${isOpen(action) && roomForFailures(strings)}${status(resultId(action), shown, text)}<div class="explain">${about(action, content, settings)}</div></div>
</li>`
}

/** What became of an action, with its transaction; nothing if nothing was tried. */
function outcome({ kind, name, state }: Action, strings: Strings): [ShownState?, Html?] {
  if (state.is === 'pending' || state.is === 'confirmed') {
    const to = partyOf(state.recipient, name) ?? html`${strings.somebody}`
    const sentence = strings[state.is][kind]({ to })
    return [
      state.is,
      html`<p>${sentence}</p>${tooLate(state.failure, strings)}${transaction(state.transaction, strings)}`,
    ]
  }
  const failure = 'failure' in state ? state.failure : undefined
  return failure ? ['failed', html`<p>${failureMessage(failure, strings)}</p>`] : []
}

/** Its picture and what it is, in the place of its result. */
function about(action: Action, content: TapPage, settings: PageSettings): Html {
  const { kind, title, description, imageUrl, state } = action
  const strings = stringsOf(settings)
  const picture = mediaOf(kind === 'claim' ? content.piece.image : imageUrl, settings)
  const text =
    state.is === 'closed'
      ? closedLine(state, settings)
      : description === ''
        ? explain(action, content, strings)
        : html`<p class="said" dir="auto">${descriptionOf(action, content.actions.length)}</p>`
  return html`${picture && html`<img class="artwork" src="${picture}" alt="" width="96" height="96" loading="lazy" referrerpolicy="no-referrer">`}<div>${title !== '' && html`<p class="kind">${titleOfAction(action, strings)}</p>`}${text}</div>`
}
