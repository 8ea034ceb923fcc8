import type { LinkPreview } from '../../domain/tap-page/preview-link.ts'
import { type Html, html } from './html.ts'
import { layout } from './layout.ts'
import { mediaOf } from './media.ts'
import { type Page, type PageSettings, pathOf } from './settings.ts'
import { stringsOf } from './strings/strings.ts'
import { teamName } from './team.ts'
import { brief } from './wording.ts'

/** For crawlers. `url`: the page's stable address. */
export interface OpenGraph {
  title: string
  description?: string | undefined
  /** Undefined: cards of it have no picture. */
  image?: string | undefined
  siteName?: string | null | undefined
  url?: string | undefined
}

/** For the head of a page. Crawlers take whole addresses alone. */
export function openGraph(
  { title, description, image, siteName, url }: OpenGraph,
  { home }: PageSettings,
): Html {
  const meta = (property: string, content: string | null | undefined) =>
    content ? html`<meta property="${property}" content="${content}">\n` : html``
  const picture = image?.startsWith('/') ? new URL(home).origin + image : image
  return html`${meta('og:type', 'website')}${meta('og:title', brief(title, 300))}${meta('og:description', description && brief(description, 300))}${meta('og:image', picture)}${meta('og:site_name', siteName && brief(siteName, 100))}${meta('og:url', url)}<meta name="twitter:card" content="${picture ? 'summary_large_image' : 'summary'}">`
}

/** For a crawler that found a chip's link: nothing on it is anybody's right. */
export function linkPreviewPage({ brand, ownWords, path, piece }: LinkPreview, plain: PageSettings): Page {
  const settings = { ...plain, ownWords }
  const title = piece.name ?? brand.name ?? stringsOf(settings).printed.title
  const description = piece.description ?? piece.collection
  const image = mediaOf(piece.image ?? brand.logoUrl, settings)
  return layout(
    title,
    html`<header>${teamName(brand, settings)}</header>
<main class="notice">
<h1 dir="auto">${brief(title, 300)}</h1>
${description && html`<p class="said" dir="auto">${brief(description, 300)}</p>`}
${path && html`<ul class="links"><li><a href="${pathOf(settings, path)}">${stringsOf(settings).publicPage.open}</a></li></ul>`}
</main>`,
    settings,
    {
      brand,
      parts: ['notice'],
      head: openGraph(
        { title, description, image, siteName: brand.name, url: path && settings.home + path },
        settings,
      ),
    },
  )
}
