import type { Action } from '../../domain/tap-page/content.ts'
import type { KeptPage } from '../../domain/tap-page/kept.ts'
import { explain, walletExplained } from './explain.ts'
import { type Html, html } from './html.ts'
import { heading, hero, namedOf } from './item.ts'
import { layout } from './layout.ts'
import { type Page, type PageSettings, pathOf } from './settings.ts'
import { type Strings, stringsOf } from './strings/strings.ts'
import { teamName } from './team.ts'
import { brief, closedMessage, failureMessage, party } from './wording.ts'

/** The page of a mailed link: what is kept, and a field for the wallet. It has no script. */
export function keptPage(kept: KeptPage, secret: string, plain: PageSettings): Page {
  const { page, until, open, failure } = kept
  const settings = { ...plain, ownWords: page.ownWords }
  const strings = stringsOf(settings)
  const texts = strings.kept
  const { brand } = page
  const title = namedOf(page, settings)
  const main = html`<header>${teamName(brand, settings)}
${open.length > 0 && html`<p class="state"><span class="tick" aria-hidden="true">&#10003;</span> ${texts.state({ day: until })}</p>`}</header>
<main>
${hero(page, settings)}
${heading(page, settings, title)}
<div class="actions"><section class="card" aria-labelledby="kept-title"><h2 id="kept-title">${titles(page.actions, strings)}</h2>
${open.length > 0 && form(kept, secret, settings)}
<div role="status" id="kept-status"${failure ? html` data-state="failed"` : stateOf(page.actions)}>${failure && html`<p>${failureMessage(failure, strings)}</p>`}${outcomes(page.actions, settings)}</div>
${open.length > 0 && html`<div class="explain">${explanations(kept, strings)}</div>`}</section></div>
${open.length > 0 && walletExplained(strings)}
</main>`
  return layout(failure ? strings.problem({ title }) : title, main, settings, { brand })
}

function form({ open, recipient, failure }: KeptPage, secret: string, settings: PageSettings): Html {
  const strings = stringsOf(settings)
  return html`<form data-action="kept" method="post" action="${pathOf(settings, `/t/keep/${secret}#kept-status`)}">
<label for="kept-recipient">${strings.recipient}</label>
<div class="field" dir="ltr"><input id="kept-recipient" name="recipient" placeholder="${strings.recipientHint}" value="${recipient?.slice(0, 255)}" required maxlength="255" autocapitalize="none" autocorrect="off" spellcheck="false" enterkeyhint="send" aria-describedby="kept-status"${failure && html` aria-invalid="true"`}></div>
<button type="submit">${open.some(({ kind }) => kind === 'register') ? strings.buttons.register : strings.kept.button}</button>
</form>`
}

/** Two taps are only registered by it, and the piece may be somebody's. */
function explanations({ page, open }: KeptPage, strings: Strings): Html {
  const { explain: all, secret } = strings.kept
  const moves = open.filter(({ kind }) => kind === 'register' || kind === 'claim')
  return html`${moves.map((action) => explain(action, page, strings))}${open.length > moves.length && html`<p>${all}</p>`}<p>${secret}</p>`
}

const nameOf = ({ kind, title }: Action, strings: Strings): string =>
  brief(title || strings.titles[kind], 100)

const titles = (actions: readonly Action[], strings: Strings): string =>
  actions
    .filter(({ kind }) => !isSecondStep(kind, actions))
    .map((action) => nameOf(action, strings))
    .join(' · ')

const isSecondStep = (kind: Action['kind'], actions: readonly Action[]): boolean =>
  kind === 'claim' && actions.some((other) => other.kind === 'register')

function stateOf(actions: readonly Action[]): Html {
  const states = actions.map(({ state }) => state.is)
  if (states.includes('pending')) return html` data-state="pending"`
  const isDone = states.includes('confirmed') || states.includes('registered')
  return isDone ? html` data-state="confirmed"` : html``
}

/** Of several things, each by its name. */
function outcomes(actions: readonly Action[], settings: PageSettings): Html {
  const strings = stringsOf(settings)
  return html`${actions.map((action) => {
    const shown = outcome(action, settings)
    const isNamed = actions.length > 1 && action.title !== '' && shown.text !== ''
    return html`${isNamed && html`<p class="kind">${nameOf(action, strings)}</p>`}${shown}`
  })}`
}

function outcome({ kind, state }: Action, settings: PageSettings): Html {
  const strings = stringsOf(settings)
  const to = (recipient: string | undefined) => (recipient ? party(recipient) : html`${strings.somebody}`)
  switch (state.is) {
    case 'open':
      return html``
    case 'registered':
      if (kind === 'claim') return html`<p>${strings.registered.thenTap}</p>`
      return html`<p>${strings.confirmed.register({ to: to(state.recipient) })}</p>`
    case 'pending':
      return html`<p>${strings.pending[kind]({ to: to(state.recipient) })}</p><p>${strings.loadAgain}</p>`
    case 'confirmed':
      return html`<p>${strings.confirmed[kind]({ to: to(state.recipient) })}</p>`
    case 'failed':
      return html`<p>${failureMessage(state.failure, strings)}</p>`
    case 'closed':
      return html`<p>${closedMessage(state.reason, state.date, settings)}</p>`
  }
}
