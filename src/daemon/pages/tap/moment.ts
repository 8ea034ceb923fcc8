import type { Action, TapPage } from '../../domain/tap-page/content.ts'
import { type Html, html } from './html.ts'
import { titleOf } from './item.ts'
import { mediaOf } from './media.ts'
import { share } from './public-page.ts'
import type { PageSettings } from './settings.ts'
import { stringsOf } from './strings/strings.ts'
import { brief, party } from './wording.ts'

/**
 * What a person has after a claim: the piece in a frame, to share and to print. Its place stands in the card from the
 * start, so that style.ts can show it once, when the class changes: a page that is loaded later plays nothing.
 * On paper it is a certificate, and all there is: see the end of style.ts.
 * @param isBesideForm there is still something to collect in the card, and so no room for it
 */
export function moment(
  { kind, id, state }: Action,
  content: TapPage,
  settings: PageSettings,
  isBesideForm = false,
): Html {
  if (kind !== 'claim' || !mayCome(state)) return html``
  const place = `${kind}-${id}-moment`
  if (state.is !== 'confirmed' || isBesideForm) return html`<div class="moment later" id="${place}"></div>`
  return html`<div class="moment kept" id="${place}">
${frame(state.recipient, content, settings)}
${acts(content, settings)}
</div>`
}

/** Its room would be a blank part of a card that never needs it. */
const mayCome = (state: Action['state']): boolean =>
  state.is === 'registered' ? !state.isSameTap : state.is !== 'closed' && state.is !== 'failed'

function frame(recipient: string | undefined, content: TapPage, settings: PageSettings): Html {
  const { piece, tappedAt, brand } = content
  const strings = stringsOf(settings)
  const image = mediaOf(piece.image ?? piece.video?.poster, settings)
  const owner = recipient ?? piece.owner?.name ?? piece.owner?.address
  const { edition, token } = piece
  const row = (name: string, value: Html, isPaper = false) =>
    html`<div${isPaper && html` class="paper"`}><dt>${name}</dt> <dd>${value}</dd></div>`
  const number = edition
    ? row(strings.edition, html`<bdi>${brief(edition, 40)}</bdi>`)
    : token && row(strings.tokenId, html`<bdi>${brief(token.tokenId, 12)}</bdi>`)
  const address = /^0x/.test(recipient ?? '') ? recipient : piece.owner?.address
  return html`<figure>${image && html`<img src="${image}" alt="" width="400" height="400" referrerpolicy="no-referrer">`}
<figcaption><p class="paper">${strings.moment.certificate}</p>
<p class="what"><bdi>${titleOf(content, settings)}</bdi></p>
<dl>${owner && row(strings.owner, party(owner))}${number}${row(strings.moment.date, html`${strings.moment.day({ day: tappedAt })}`)}${address && row(strings.ownerAddress, html`${brief(address, 100)}`, true)}${token && [row(strings.tokenId, html`<bdi>${brief(token.tokenId, 100)}</bdi>`, true), row(strings.contract, html`${brief(token.contractAddress, 100)}`, true), row(strings.network, html`<bdi>${brief(token.chainName, 100)}</bdi> (${token.chainId})`, true)]}</dl>
${brand.name && html`<p class="paper"><bdi>${brief(brand.name, 100)}</bdi></p>`}</figcaption></figure>`
}

/** For the script: without one, browsers share and print by themselves. */
function acts(content: TapPage, settings: PageSettings): Html {
  const url = content.publicPage && `${settings.home}${content.publicPage}`
  return html`<div class="acts">${url && share(url, titleOf(content, settings), settings, url)}<button class="quiet" type="button" data-print>${stringsOf(settings).moment.print}</button></div>`
}
