import type { Piece, PieceSection, StoryEntry } from '../../domain/tap-page/content.ts'
import type { Budget } from './budget.ts'
import { type Html, html } from './html.ts'
import type { PageSettings } from './settings.ts'
import { stringsOf } from './strings/strings.ts'
import { brief } from './wording.ts'

/** Care, material, and repair, so that the page can be a product passport. */
export function sections({ sections }: Piece, settings: PageSettings, budget: Budget): Html {
  const strings = stringsOf(settings)
  return html`${sections.map((section) => {
    const { is } = section
    const content = contentOf(section, budget)
    return (
      content.text !== '' &&
      html`<section aria-labelledby="${is}-title"><h2 id="${is}-title">${strings.sections[is]}</h2>
${content}</section>
`
    )
  })}`
}

function contentOf({ text, rows }: PieceSection, budget: Budget): Html {
  if (text !== undefined) {
    const shown = budget.text(brief(text, 1500), 0.6)
    return shown === '' ? html`` : html`<p class="said" dir="auto">${shown}</p>`
  }
  const shown = budget.rows(
    rows,
    0.6,
    ({ name, value }) =>
      html`<div><dt><bdi>${brief(name, 100) || '–'}</bdi></dt><dd dir="auto">${brief(value, 400)}</dd></div>`,
  )
  return shown.length === 0 ? html`` : html`<dl class="grid">${shown}</dl>`
}

const entryOf = ({ day, is, text = '', count }: StoryEntry, settings: PageSettings): Html => {
  const { story } = stringsOf(settings)
  const name = html`<bdi>${brief(text, 500)}</bdi>`
  const words = is === 'note' ? name : is === 'badge' || is === 'guestbook' ? story[is]({ name }) : story[is]
  return html`<li data-story="${is}"><time datetime="${day}">${story.day({ day })}</time> <span>${words}${count > 1 && html` <span class="soft">×${count}</span>`}</span></li>
`
}

/** @param isFolded behind its title */
export function story(
  all: readonly StoryEntry[],
  settings: PageSettings,
  { budget, isFolded }: { budget: Budget; isFolded: boolean },
): Html {
  const entries = budget.rows(all, 1, (entry) => entryOf(entry, settings))
  if (entries.length === 0) return html``
  const { title } = stringsOf(settings).story
  const list = html`<ol class="story">
${entries}</ol>`
  return isFolded
    ? html`<details><summary>${title}</summary>${list}</details>`
    : html`<section aria-labelledby="story-title"><h2 id="story-title">${title}</h2>
${list}</section>`
}
