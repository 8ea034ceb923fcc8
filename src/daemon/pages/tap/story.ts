import type { Piece, StoryEntry } from '../../domain/tap-page/content.ts'
import { type Html, html } from './html.ts'
import type { PageSettings } from './settings.ts'
import { stringsOf } from './strings/strings.ts'
import { brief } from './wording.ts'

/** Care, material, and repair, so that the page can be a product passport. */
export function sections({ sections }: Piece, settings: PageSettings): Html {
  const strings = stringsOf(settings)
  return html`${sections.map(
    ({
      is,
      text,
      rows,
    }) => html`<section aria-labelledby="${is}-title"><h2 id="${is}-title">${strings.sections[is]}</h2>
${
  text === undefined
    ? html`<dl class="grid">${rows.map(({ name, value }) => html`<div><dt><bdi>${brief(name, 100) || '–'}</bdi></dt><dd dir="auto">${brief(value, 400)}</dd></div>`)}</dl>`
    : html`<p class="said" dir="auto">${brief(text, 1500)}</p>`
}</section>
`,
  )}`
}

const entryOf = ({ day, is, text = '', count }: StoryEntry, settings: PageSettings): Html => {
  const { story } = stringsOf(settings)
  const name = html`<bdi>${brief(text, 500)}</bdi>`
  const words = is === 'note' ? name : is === 'badge' || is === 'guestbook' ? story[is]({ name }) : story[is]
  return html`<li data-story="${is}"><time datetime="${day}">${story.day({ day })}</time> <span>${words}${count > 1 && html` <span class="soft">×${count}</span>`}</span></li>
`
}

/** @param isFolded behind its title */
export function story(entries: readonly StoryEntry[], settings: PageSettings, isFolded: boolean): Html {
  if (entries.length === 0) return html``
  const { title } = stringsOf(settings).story
  const list = html`<ol class="story">
${entries.map((entry) => entryOf(entry, settings))}</ol>`
  return isFolded
    ? html`<details><summary>${title}</summary>${list}</details>`
    : html`<section aria-labelledby="story-title"><h2 id="story-title">${title}</h2>
${list}</section>`
}
