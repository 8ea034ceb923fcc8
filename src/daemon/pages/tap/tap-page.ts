import { keyOf, type TapPage } from '../../domain/tap-page/content.ts'
import { cardsOfActions, timeLine } from './cards.ts'
import { laidOut } from './collect.ts'
import { walletExplained } from './explain.ts'
import { type Html, html } from './html.ts'
import { heading, hero, technical, titleOf } from './item.ts'
import { layout } from './layout.ts'
import { pieceTexts } from './piece-texts.ts'
import { reserveCard, reserveKey } from './reserve.ts'
import { type Page, type PageSettings, pathOf } from './settings.ts'
import { type Strings, stringsOf } from './strings/strings.ts'
import type { StylePart } from './style.ts'
import { teamLinks, teamName } from './team.ts'
import { genuineSince } from './times.ts'

/**
 * The page for a valid tap: the piece and the available actions. Every text in it may be hostile.
 * @param isRefused it answers a refused form: screen readers read the title first
 */
export function tapPage(found: TapPage, plain: PageSettings, isRefused = false): Page {
  const content = laidOut(found)
  const settings = { ...plain, ownWords: content.ownWords }
  const picture = hero(content, settings)
  const head = banner(content, settings)
  const top = html`${heading(content, settings)}
${actions(content, settings)}`
  const end = html`${teamLinks(content.links, settings)}
${technical(content, settings)}`
  const texts = textsOfScript(stringsOf(settings))
  const parts = partsOf(content)
  const others = [head, picture, top, end, texts]
  const piece = pieceTexts(content, settings, { others, parts, isFolded: true })
  const main = html`${head}
<main data-ref="${content.ref}" data-live="${pathOf(settings, '/t/live')}" data-check-at="${pathOf(settings, '/t/check')}"${content.collected && html` data-layout="collect"`}${picture.text !== '' && html` class="pair"`}${texts}>
${picture}
<div class="about">
${top}
${piece}
${end}
</div>
</main>`
  const { brand } = content
  const title = titleOf(content, settings)
  const { problem } = stringsOf(settings)
  return layout(isRefused ? problem({ title }) : title, main, settings, {
    ...{ brand, parts },
    script: settings.script,
  })
}

// An open page stays as it was laid out.
const partsOf = ({ actions, collected }: TapPage): StylePart[] => [
  ...(actions.length > 0 ? ['claim' as const] : []),
  ...(collected ? ['collect' as const] : []),
]

/** Comes first, because it answers the tap: the chip is genuine, and who owns it. */
function banner(content: TapPage, settings: PageSettings): Html {
  return html`<header>${teamName(content.brand, settings)}
<p class="state"><span class="tick" aria-hidden="true">&#10003;</span> ${genuine(content, settings)}</p></header>`
}

/** A page that is reloaded or left open must not claim that the chip was here just now. */
function genuine({ tappedAt }: TapPage, settings: PageSettings): Html {
  const strings = stringsOf(settings)
  const minutes = Math.floor((settings.now.getTime() - Date.parse(tappedAt)) / 60_000)
  const text = minutes < 1 ? strings.genuine : genuineSince(minutes, strings)
  const later = html` data-later="${strings.genuineEarlier}" data-minutes="${minutes < 1 ? 0 : minutes}"`
  return html`<span data-room="${strings.genuineEarlier}" data-room-too="${genuineSince(59, strings)}"><span${later}>${text}</span></span>`
}

function actions(content: TapPage, settings: PageSettings): Html {
  const strings = stringsOf(settings)
  if (content.actions.length === 0)
    return content.links.length > 0 ? html`` : html`<p class="explain">${strings.nothingToDo}</p>`
  const cards = [
    ...cardsOfActions(content, settings),
    { key: reserveKey, card: reserveCard(content, settings) },
  ]
  const first = cards.find(({ card }) => card.text.includes('<form'))
  return html`${cards.map((one) => [one.card, one === first && bar(one.key, content, settings)])}
${timeLine(content, settings)}
${walletExplained(strings)}`
}

/**
 * Leads to the first form while its button is below the screen; then it lies under the card, see style.ts. It takes no
 * room of its own. Keys reach the form itself, which comes before it.
 */
function bar(key: string, { actions }: TapPage, settings: PageSettings): Html {
  const { titles, collect, reserve } = stringsOf(settings)
  const action = actions.find((one) => keyOf(one) === key)
  const title = action ? titles[action.kind] : key === reserveKey ? reserve.elsewhereTitle : collect.title
  return html`<p class="bar"><a tabindex="-1" href="#${key}-label">${title}</a></p>`
}

/** The script has no texts of its own. */
function textsOfScript(strings: Strings): Html {
  const known = scriptTexts.get(strings)
  if (known) return known
  const made = html`${Object.entries(strings.script).map(
    ([name, text]) =>
      html` data-say-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}="${text}"`,
  )}`
  scriptTexts.set(strings, made)
  return made
}
const scriptTexts = new WeakMap<Strings, Html>()
