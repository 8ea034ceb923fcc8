import type { Piece, StoryEntry, TapPage } from '../../domain/tap-page/content.ts'
import { Budget } from './budget.ts'
import { type Html, html } from './html.ts'
import { attributes, description, gallery } from './item.ts'
import { lookOf } from './layout.ts'
import { type PageSettings, pathOf } from './settings.ts'
import { sections, story } from './story.ts'
import { stringsOf } from './strings/strings.ts'
import type { StylePart } from './style.ts'

/** Without what it loads; 30 kB with what this reckons too small. */
const maxPageBytes = 29_000
/** The rest of the head, the titles of texts, and some more. */
const headBytes = 1400
/** Most characters have one byte. */
const bytesPerCharacter = 1.06

interface Told extends Pick<TapPage, 'piece' | 'brand'> {
  story?: readonly StoryEntry[] | undefined
}

/**
 * All that is told of a piece at length: as much of it as fits, and else where the rest is.
 * @param others what else is on the page @param parts of its style @param isFolded the story is behind its title
 */
export function pieceTexts(
  told: Told,
  settings: PageSettings,
  {
    others,
    parts = [],
    isFolded,
  }: { others: readonly Html[]; parts?: readonly StylePart[]; isFolded: boolean },
): Html {
  const length = others.reduce((sum, { text }) => sum + text.length, 0) * bytesPerCharacter
  const { bytes } = lookOf(told.brand, settings, parts)
  const budget = new Budget(maxPageBytes - headBytes - bytes.length - length)
  // In this order they may take what there is.
  const described = description(told, settings, budget)
  const listed = attributes(told, settings, budget)
  const grouped = sections(told.piece, settings, budget)
  const pictures = gallery(told, settings, budget)
  const life = story(told.story ?? [], settings, { budget, isFolded })
  return html`${described}
${pictures}
${listed}
${grouped}
${budget.isSpent && more(told.piece, settings)}
${life}`
}

function more({ token }: Piece, settings: PageSettings): Html {
  const { more, moreData } = stringsOf(settings)
  return html`<p class="soft">${more}${token?.dataPath && html` <a href="${pathOf(settings, token.dataPath)}">${moreData}</a>`}</p>`
}
