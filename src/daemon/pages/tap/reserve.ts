import type { Reserve, TapPage } from '../../domain/tap-page/content.ts'
import { longName } from './check-message.ts'
import { type Html, html } from './html.ts'
import { roomFor } from './parts.ts'
import { type PageSettings, pathOf } from './settings.ts'
import { type Strings, stringsOf } from './strings/strings.ts'
import { brief, failureMessage, longestFailureMessage } from './wording.ts'

export const reserveKey = 'reserve-0'
const id = reserveKey

/** Keeps what the tap allows for a person without a wallet. Nothing without a mail server. */
export function reserveCard({ reserve, ref, query }: TapPage, settings: PageSettings): Html {
  if (!reserve) return html``
  const strings = stringsOf(settings)
  const texts = strings.reserve
  const title = reserve.is === 'elsewhere' ? texts.elsewhereTitle : texts.title
  const form = (action: 'reserve' | 'reserve-again', inside: Html) =>
    html`<form data-action="${action}" method="post" action="${pathOf(settings, `/t/reserve#${id}-status`)}">
<input type="hidden" name="ref" value="${ref}"><input type="hidden" name="tap" value="${query}">${inside}
</form>`
  return html`<section class="card" data-card="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
${body(reserve, strings, form)}
</section>`
}

type FormOf = (action: 'reserve' | 'reserve-again', inside: Html) => Html

function body(reserve: Reserve, strings: Strings, form: FormOf): Html {
  const texts = strings.reserve
  switch (reserve.is) {
    case 'open': {
      const explained = reserve.isShared ? `${texts.explain} ${texts.shared}` : texts.explain
      return html`${form('reserve', emailField(reserve, texts, texts.send))}
${room(strings, explained, problem(reserve, strings), reserve.failure && 'failed', html`&#10;${texts.again}&#10;&#10;&#10;`)}
${reserve.mayBeKept && html`<details><summary>${texts.elsewhereTitle}</summary><p>${texts.elsewhere}</p>${form('reserve-again', linkField({}, texts, 'link-email'))}</details>`}`
    }
    case 'asked': {
      const email = html`<bdi class="name">${brief(reserve.email, 254)}</bdi>`
      const said = reserve.mail === 'failed' ? texts.bounced({ email }) : texts.sent({ email })
      // Otherwise it is the address in the other form that was refused.
      const isWrong = reserve.failure?.code === 'mail_code_wrong'
      const refused = isWrong ? undefined : reserve.failure
      const code = html`<label for="${id}-code">${texts.code}</label>
<div class="field" dir="ltr"><input id="${id}-code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 \\-]*" required maxlength="12" aria-describedby="${id}-status"${isWrong && html` aria-invalid="true"`}></div>
<button type="submit">${texts.keep}</button>`
      const left = isWrong && html`<p>${texts.tries({ count: reserve.triesLeft })}</p>`
      const isFailed = reserve.failure !== undefined || reserve.mail === 'failed'
      const text = reserve.failure ? html`${problem(reserve, strings)}${left}` : html`<p>${said}</p>`
      return html`${form('reserve', code)}
${room(strings, '', text, isFailed ? 'failed' : undefined)}
<details${refused && html` open`}><summary>${texts.again}</summary>
${form('reserve-again', emailField({ email: reserve.email, failure: refused }, texts, texts.resend))}</details>`
    }
    case 'kept': {
      const day = reserve.until
      const isBounced = reserve.mail === 'failed'
      const text = isBounced ? texts.keptBounced({ day }) : texts.kept({ day })
      return html`<div class="room">${status(html`<p>${text}</p>${reserve.isShared && html`<p>${texts.shared}</p>`}`, 'confirmed')}</div>`
    }
    case 'elsewhere': {
      const said = reserve.isAsked ? html`<p>${texts.linkSent}</p>` : problem(reserve, strings)
      return html`${form('reserve-again', linkField(reserve, texts))}
${room(strings, texts.elsewhere, said, reserve.failure && 'failed')}`
    }
  }
}

const emailField = (
  { email, failure }: { email?: string; failure?: unknown },
  texts: Strings['reserve'],
  button: string,
  field = 'email',
): Html => html`<label${field === 'email' && html` id="${id}-label"`} for="${id}-${field}">${texts.email}</label>
<div class="field" dir="ltr"><input id="${id}-${field}" type="email" name="email" placeholder="${texts.emailHint}" value="${email}" required maxlength="254" autocomplete="email" autocapitalize="none" spellcheck="false" aria-describedby="${id}-status"${failure !== undefined && html` aria-invalid="true"`}></div>
<button type="submit" class="quiet">${button}</button>`

/** Asks for another link. */
const linkField = (
  typed: Parameters<typeof emailField>[0],
  texts: Strings['reserve'],
  field?: string,
): Html => html`<input type="hidden" name="link" value="1">${emailField(typed, texts, texts.link, field)}`

function problem({ failure }: Pick<Extract<Reserve, { is: 'open' }>, 'failure'>, strings: Strings): Html {
  if (!failure) return html``
  if (failure.code === 'recipient_invalid') return html`<p>${strings.reserve.invalid}</p>`
  const often = failure.code === 'rate_limited' && html`${strings.reserve.often} `
  return html`<p>${often}${failureMessage(failure, strings)}</p>`
}

/**
 * All that the card may say below its button, in one place that is large enough from the start.
 * @param more lines that another state of the card has below it
 */
function room(
  strings: Strings,
  explain: string,
  text: Html,
  state: 'failed' | undefined,
  more: Html = html``,
): Html {
  const texts = strings.reserve
  const often = `${texts.often} ${failureMessage({ code: 'rate_limited', retryAfterSeconds: 5000 }, strings)}`
  const [longest = ''] = [often, longestFailureMessage(strings)].sort((a, b) => b.length - a.length)
  const failed = html`${longest}&#10;${texts.tries({ count: 5 })}${more}`
  return html`<div class="room"${roomFor(failed, html`${texts.bounced({ email: longName })}${more}`)}>${status(text, state)}${explain && html`<div class="explain"><p>${explain}</p></div>`}</div>`
}

const status = (text: Html, state?: 'confirmed' | 'failed' | undefined): Html => {
  const shown = state ?? (text.text === '' ? undefined : 'pending')
  return html`<div role="status" id="${id}-status" tabindex="-1"${shown === 'confirmed' || state === 'failed' ? html` data-state="${shown}"` : undefined}>${text}</div>`
}
