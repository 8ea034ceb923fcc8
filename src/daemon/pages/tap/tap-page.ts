import type { TapPage } from '../../domain/tap-page/content.ts'
import { actionCard, timeLine } from './cards.ts'
import { type Html, html } from './html.ts'
import { attributes, description, gallery, heading, hero, technical, titleOf } from './item.ts'
import { layout } from './layout.ts'
import { reserveCard } from './reserve.ts'
import { type Page, type PageSettings, pathOf } from './settings.ts'
import { sections, story } from './story.ts'
import { type Strings, stringsOf } from './strings/strings.ts'
import { teamLinks, teamName } from './team.ts'
import { genuineSince } from './times.ts'

/**
 * The page for a valid tap: the piece and the available actions. Every text in `content` may be hostile.
 * @param isRefused it answers a refused form: screen readers read the title first
 */
export function tapPage(content: TapPage, plain: PageSettings, isRefused = false): Page {
  const settings = { ...plain, ownWords: content.ownWords }
  const main = html`${banner(content, settings)}
<main data-ref="${content.ref}" data-live="${pathOf(settings, '/t/live')}" data-check-at="${pathOf(settings, '/t/check')}"${textsOfScript(stringsOf(settings))}>
${hero(content, settings)}
${heading(content, settings)}
${actions(content, settings)}
${description(content, settings)}
${gallery(content, settings)}
${attributes(content, settings)}
${sections(content.piece, settings)}
${story(content.story ?? [], settings, true)}
${teamLinks(content.links, settings)}
${technical(content, settings)}
</main>`
  const { brand } = content
  const title = titleOf(content, settings)
  const { problem } = stringsOf(settings)
  return layout(isRefused ? problem({ title }) : title, main, settings, { brand, script: settings.script })
}

/** Comes first, because it answers the tap: the chip is genuine, and who owns it. */
function banner(content: TapPage, settings: PageSettings): Html {
  return html`<header>${teamName(content.brand, settings)}
<p class="state"><span class="tick" aria-hidden="true">✓</span> ${genuine(content, settings)}</p></header>`
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
  if (content.actions.length === 0 && content.links.length > 0) return html``
  const cards = content.actions.map((action) => actionCard(action, content, settings))
  if (cards.length === 0) return html`<p class="explain">${strings.nothingToDo}</p>`
  return html`<div class="actions">${timeLine(content, settings)}
${cards}
${reserveCard(content, settings)}
<details class="soft"><summary>${strings.whatIsWallet}</summary><p>${strings.walletIs}</p></details></div>`
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
