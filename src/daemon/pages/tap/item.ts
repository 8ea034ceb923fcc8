import { uidToColons } from '../../../nfc/uid.ts'
import { httpsUrl } from '../../../values/media-url.ts'
import type { Picture, TapPage } from '../../domain/tap-page/content.ts'
import { isVideo } from '../../domain/tap-page/piece.ts'
import type { Budget } from './budget.ts'
import { type Html, html } from './html.ts'
import { mediaOf } from './media.ts'
import type { PageSettings } from './settings.ts'
import { stringsOf } from './strings/strings.ts'
import { brief, party } from './wording.ts'

/** What the page says of a piece, whoever looks. */
type PieceContent = Pick<TapPage, 'piece' | 'tamper'>

/** The name that stands for the whole page. */
export const titleOf = (
  { piece }: Pick<PieceContent, 'piece'>,
  settings: PageSettings,
  otherwise = stringsOf(settings).fallbackTitle,
): string => brief(piece.name?.trim() ?? '', 300) || otherwise

/** The same where no tap has proved anything: on pages that a link leads to, and of pictures. */
export const namedOf = (content: Pick<PieceContent, 'piece'>, settings: PageSettings): string =>
  titleOf(content, settings, stringsOf(settings).publicPage.fallbackTitle)

/** Picture or video, in a box whose size is known before the media arrives; empty if there is none. */
export function hero(content: PieceContent, settings: PageSettings): Html {
  const { piece } = content
  const { videoOf } = stringsOf(settings)
  const title = namedOf(content, settings)
  const video = mediaOf(piece.video?.url, settings)
  const image = mediaOf(piece.image, settings)
  if (video) {
    const poster = mediaOf(piece.video?.poster, settings) ?? image
    return html`<div class="hero">${film(video, poster, videoOf({ name: title }))}${poster && html`<img class="poster" src="${poster}" alt="${title}" width="800" height="800" loading="lazy" referrerpolicy="no-referrer">`}</div>`
  }
  if (!image) return html``
  return html`<div class="hero"><img src="${image}" alt="${title}" width="800" height="800" fetchpriority="high" decoding="async" referrerpolicy="no-referrer"></div>`
}

/**
 * The script plays it unless the viewer prefers reduced motion; the controls pause it, or play it without a script.
 */
const film = (url: string, poster: string | undefined, label: string): Html =>
  html`<video src="${url}"${poster && html` poster="${poster}"`} aria-label="${label}" muted playsinline loop controls preload="none" width="800" height="800"></video>`

export function heading(content: TapPage, settings: PageSettings, title = titleOf(content, settings)): Html {
  const { collection, edition, kind } = content.piece
  const { tamper: seal } = content
  const strings = stringsOf(settings)
  return html`<h1 id="piece" dir="auto">${title}</h1>
${collection && html`<p class="collection" dir="auto">${brief(collection, 300)}</p>`}
${(edition || seal || kind !== 'chip') && html`<dl class="facts">${ownerRow(content, settings)}${seal && tamperRow(seal, settings)}${edition && html`<div><dt>${strings.edition}</dt><dd><bdi>${brief(edition, 100)}</bdi></dd></div>`}</dl>`}`
}

/** An opened seal is stated as a plain fact: whoever unpacks a piece opens it. */
export const tamperRow = (seal: NonNullable<TapPage['tamper']>, settings: PageSettings): Html => {
  const { seal: name, sealClosed, sealOpened } = stringsOf(settings)
  return html`<div><dt>${name}</dt><dd>${seal.is === 'closed' ? sealClosed : sealOpened({ day: seal.since })}</dd></div>`
}

/**
 * Space is reserved while the owner is unknown, so that nothing moves when the name arrives. The script says that it is
 * theirs to whoever has connected the owner's wallet before.
 */
export function ownerRow({ piece, actions }: TapPage, settings: PageSettings): Html {
  const { owner, kind, isUnowned } = piece
  const strings = stringsOf(settings)
  const isUnminted = kind === 'item' && actions.some((action) => action.kind === 'claim')
  const other = isUnminted || isUnowned ? strings.ownerNobody : strings.ownerUnknown
  const shownOwner = owner
    ? html`${owner.name && html`${party(owner.name)} `}${party(owner.address)}`
    : html`<bdi class="soft">${other}</bdi>`
  return html`<div data-card="owner"${kind !== 'token' && !isUnminted && html` hidden`}><dt>${strings.owner}${owner && html` ${ifYours(strings.ownerYou, owner.isYours ? strings.ownerYou : '')}`}</dt><dd data-owner="${owner && brief(owner.address, 100)}">${shownOwner}</dd></div>`
}

/** A text that is replaced where the wallet in the browser owns the token; both have room. */
export const ifYours = (yours: string, text: string): Html =>
  html`<span data-room="${yours}"><span data-yours="${yours}">${text}</span></span>`

// A phone's screen has room for about this much under the picture.
const shortText = 420

/** A long text is folded after its first sentences. */
export function description(
  { piece }: Pick<PieceContent, 'piece'>,
  settings: PageSettings,
  budget: Budget,
): Html {
  const text = budget.text(piece.description?.trim() ?? '', 0.5)
  if (text === '') return html``
  const cut = text.length > shortText ? endOfSentence(text) : text.length
  const first = html`<p class="said" dir="auto">${text.slice(0, cut).trimEnd()}</p>`
  if (cut === text.length) return html`<section class="description">${first}</section>`
  return html`<section class="description">${first}<details><summary>${stringsOf(settings).readOn}</summary><p class="said" dir="auto">${text.slice(cut).trimStart()}</p></details></section>`
}

/** Cuts at the end of a sentence in the first part of a long text, else after a word, else anywhere. */
function endOfSentence(text: string): number {
  const start = text.slice(0, shortText)
  const sentence = Math.max(...[/\n/g, /[.!?؟]["'”»)]?\s|[。！？]/g].map((end) => lastEnd(start, end)))
  if (sentence > shortText / 3) return sentence
  const word = start.lastIndexOf(' ')
  if (word > shortText / 3) return word
  // Half of a surrogate pair would be shown as two boxes.
  return /[\ud800-\udbff]$/.test(start) ? shortText - 1 : shortText
}

const lastEnd = (text: string, pattern: RegExp): number => {
  const last = [...text.matchAll(pattern)].at(-1)
  return last ? last.index + last[0].length : -1
}

/** A scrollable row that the keyboard can reach, without a script. */
export function gallery(content: Pick<PieceContent, 'piece'>, settings: PageSettings, budget: Budget): Html {
  const { gallery: label, pictureOf } = stringsOf(settings)
  const title = namedOf(content, settings)
  const shown = content.piece.gallery.flatMap((picture) => {
    const url = mediaOf(picture.url, settings)
    return url ? [{ url, picture }] : []
  })
  const pictures = budget.rows(shown, 0.7, ({ url, picture }, index) =>
    one(url, picture, pictureOf({ name: title, index: index + 1 })),
  )
  if (pictures.length === 0) return html``
  return html`<section aria-labelledby="gallery-title"><h2 id="gallery-title">${label}</h2>
<ul class="gallery" tabindex="0" aria-labelledby="gallery-title">${pictures}</ul></section>`
}

const one = (url: string, picture: Picture, name: string): Html =>
  html`<li>${
    isVideo(picture)
      ? film(url, undefined, name)
      : html`<img src="${url}" alt="${name}" width="600" height="600" loading="lazy" fetchpriority="low" decoding="async" referrerpolicy="no-referrer">`
  }</li>`

export function attributes(
  { piece }: Pick<PieceContent, 'piece'>,
  settings: PageSettings,
  budget: Budget,
): Html {
  const rows = budget.rows(
    piece.attributes,
    0.6,
    ({ name, value }) =>
      html`<div><dt><bdi>${brief(name, 100) || '–'}</bdi></dt><dd><bdi>${brief(value, 400)}</bdi></dd></div>`,
  )
  if (rows.length === 0) return html``
  return html`<section aria-labelledby="attributes-title"><h2 id="attributes-title">${stringsOf(settings).attributes}</h2>
<dl class="grid">${rows}</dl></section>`
}

export function technical({ uid, piece }: TapPage, settings: PageSettings): Html {
  const strings = stringsOf(settings)
  const { token, owner } = piece
  const url = token?.url && httpsUrl(token.url)
  const row = (name: string, value: Html | string) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`
  return html`<details class="technical"><summary>${strings.technical}</summary>
<dl>${row(strings.chip, uidToColons(uid))}${token && [row(strings.tokenId, html`<bdi>${brief(token.tokenId, 100)}</bdi>`), row(strings.contract, brief(token.contractAddress, 100)), row(strings.network, html`<bdi>${brief(token.chainName, 100)}</bdi> (${token.chainId})`)]}${owner && row(strings.ownerAddress, brief(owner.address, 100))}</dl>
${url && html`<p><a href="${url}" rel="noreferrer noopener" target="_blank">${strings.viewToken}</a></p>`}</details>`
}
