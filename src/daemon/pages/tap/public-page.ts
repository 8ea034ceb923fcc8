import type { PublicPage } from '../../domain/tap-page/public-page.ts'
import { type Html, html } from './html.ts'
import { hero, namedOf, tamperRow } from './item.ts'
import { layout } from './layout.ts'
import { openGraph } from './link-preview.ts'
import { mediaOf } from './media.ts'
import { pieceTexts } from './piece-texts.ts'
import type { Page, PageSettings } from './settings.ts'
import { stringsOf } from './strings/strings.ts'
import { teamName } from './team.ts'
import { brief, party } from './wording.ts'

/** The page of a piece for everyone who has its address. Every text in `content` may be hostile. */
export function publicPage(content: PublicPage, plain: PageSettings): Page {
  const settings = { ...plain, ownWords: content.ownWords }
  const { brand, piece, path } = content
  const title = namedOf(content, settings)
  const top = html`<header>${teamName(brand, settings)}</header>
<main data-public>
${hero(content, settings)}
${heading(content, title, settings)}
${share(`${settings.home}${path}`, title, settings)}`
  const main = html`${top}
${pieceTexts(content, settings, { others: [top], isFolded: false })}
${about(settings)}
</main>`
  const head = openGraph(
    {
      title,
      description: piece.description ?? piece.collection,
      image: mediaOf(piece.image ?? brand.logoUrl, settings),
      siteName: brand.name,
      url: `${settings.home}${path}`,
    },
    settings,
  )
  return layout(title, main, settings, { brand, script: settings.script, head })
}

/** Without what is not known. */
function heading({ piece, tamper, heldSince }: PublicPage, title: string, settings: PageSettings): Html {
  const { collection, edition, owner } = piece
  const strings = stringsOf(settings)
  const rows = html`${edition && html`<div><dt>${strings.edition}</dt><dd><bdi>${brief(edition, 100)}</bdi></dd></div>`}${owner && html`<div><dt>${strings.owner}</dt><dd>${party(owner.name ?? owner.address)}${heldSince && html` <span class="soft">${strings.publicPage.since({ day: heldSince })}</span>`}</dd></div>`}${tamper && tamperRow(tamper, settings)}`
  return html`<h1 dir="auto">${title}</h1>
${collection && html`<p class="collection" dir="auto">${brief(collection, 300)}</p>`}
${rows.text !== '' && html`<dl class="facts">${rows}</dl>`}`
}

/** Needs the script, which has no words of its own. @param failed said if it cannot be copied: the address is elsewhere */
export function share(url: string, title: string, settings: PageSettings, failed?: string): Html {
  const { share, shareCopied, shareFailed } = stringsOf(settings).publicPage
  return html`<p class="share" data-share="${url}" data-title="${title}" data-copied="${shareCopied}" data-failed="${failed ?? shareFailed}"><button class="quiet" type="button">${share}</button> <span class="hint" aria-live="polite"></span></p>`
}

const about = (settings: PageSettings): Html =>
  html`<p class="soft">${stringsOf(settings).publicPage.about}</p>`
