import type { Brand, TapPage } from '../../domain/tap-page/content.ts'
import { type Html, html } from './html.ts'
import { linkUrl, mediaOf } from './media.ts'
import type { PageSettings } from './settings.ts'
import { stringsOf } from './strings/strings.ts'
import { brief } from './wording.ts'

/** Logo and name; empty if the team has neither. */
export function teamName({ name, logoUrl }: Brand, settings: PageSettings): Html {
  const logo = mediaOf(logoUrl, settings)
  if (!logo && !name) return html``
  const alt = name ? '' : stringsOf(settings).logo
  // After the name: its box is as wide as a wordmark needs, which would be a gap before the name.
  return html`<p class="team">${name && html`<bdi>${brief(name, 100)}</bdi>`}${logo && html`<img src="${logo}" alt="${alt}" height="36" referrerpolicy="no-referrer">`}</p>`
}

export function teamLinks(links: TapPage['links'], settings: PageSettings): Html {
  const shown = links.flatMap(({ label, url }) => {
    const href = linkUrl(url)
    return href
      ? [html`<li><a href="${href}" rel="noreferrer noopener"><bdi>${brief(label, 200)}</bdi></a></li>`]
      : []
  })
  if (shown.length === 0) return html``
  return html`<section aria-labelledby="links-title"><h2 id="links-title">${stringsOf(settings).links}</h2>
<ul class="links">${shown}</ul></section>`
}
