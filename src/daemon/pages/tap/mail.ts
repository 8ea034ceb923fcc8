import type { PageLanguage } from '../../../values/page-languages.ts'
import { textDirections } from '../../../values/page-languages.ts'
import { html } from './html.ts'
import { stringsOf } from './strings/strings.ts'
import { brief } from './wording.ts'

export interface MailContent {
  language: PageLanguage
  /** Undefined: the chip has no named piece. */
  piece: string | undefined
  team: string | undefined
  ownWords?: string | null | undefined
  about: { is: 'code'; code: string } | { is: 'link'; url: string; until: string }
}

/** A mail to a person who keeps a piece: the same words as text and as plain HTML, without pictures that would tell on them. */
export function reservationMail({ language, piece, team, ownWords, about }: MailContent) {
  const { mail: texts, publicPage } = stringsOf({ language, ownWords })
  const name = oneLine(brief(piece ?? publicPage.fallbackTitle, 80))
  const [subject, lead, main, rest] =
    about.is === 'code'
      ? [
          texts.codeSubject({ code: about.code, piece: name }),
          texts.code,
          about.code,
          [texts.notYou, texts.forget],
        ]
      : [
          texts.linkSubject({ piece: name }),
          texts.link({ day: about.until }),
          about.url,
          [texts.secret, texts.forget],
        ]
  const signature = team === undefined ? [] : [oneLine(brief(team, 100))]
  const paragraphs = [name, lead, main, ...rest, ...signature]
  const shown =
    about.is === 'link'
      ? html`<a href="${about.url}">${about.url}</a>`
      : html`<strong style="font-size:1.6em;letter-spacing:.15em">${about.code}</strong>`
  return {
    subject: oneLine(subject),
    text: `${paragraphs.join('\n\n')}\n`,
    html: html`<!doctype html><html lang="${language}" dir="${textDirections[language]}"><head><meta charset="utf-8"><title>${subject}</title></head><body style="font-family:sans-serif;line-height:1.5;max-width:36em">
<p><b>${name}</b></p><p>${lead}</p><p>${shown}</p>${[...rest, ...signature].map((text) => html`<p>${text}</p>`)}
</body></html>
`.text,
  }
}

/** A name with a line break must not become a header, nor look like another paragraph. */
const oneLine = (text: string): string =>
  text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim()
